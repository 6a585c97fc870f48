package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decode returns the text of a sitemap, of at most limit bytes, and its first byte
// that is no space. Names and headers are not asked: files called .gz that are not
// compressed are as common as compressed ones that are not called so.
func decode(r io.Reader, limit int64) (*bufio.Reader, byte, error) {
	b := bufio.NewReader(r)
	for range 2 { // a .gz that the server compressed again for the transfer
		head, err := b.Peek(2)
		if err != nil || head[0] != 0x1f || head[1] != 0x8b {
			break // what is wrong with it shows when it is read
		}
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		b = bufio.NewReader(z)
	}
	b = bufio.NewReader(toUTF8(bufio.NewReader(&limited{r: b, left: limit})))
	for {
		c, err := b.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, 0, ErrEmpty
		case err != nil:
			return nil, 0, fmt.Errorf("sitemap: %w", err)
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return b, c, b.UnreadByte()
		}
	}
}

// toUTF8 removes a byte order mark, and turns UTF-16, with a mark or without, into
// UTF-8. Other encodings are declared in the XML.
func toUTF8(b *bufio.Reader) io.Reader {
	head, _ := b.Peek(4) // fewer at the end
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		_, _ = b.Discard(3)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{'<', 0}), bytes.HasPrefix(head, []byte{'h', 0}):
		return transform.NewReader(b, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte{0, '<'}), bytes.HasPrefix(head, []byte{0, 'h'}):
		return transform.NewReader(b, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder())
	}
	return b
}

// limited is a reader that ends with an error where io.LimitReader ends as if the
// file did.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("%w: too many bytes", ErrLimit)
	}
	if int64(len(p)) > l.left+1 { // one more, to tell a file that ends here
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return n - 1, fmt.Errorf("%w: too many bytes", ErrLimit)
	}
	return n, err
}
