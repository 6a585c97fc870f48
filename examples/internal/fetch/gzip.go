package fetch

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
)

// gunzip reads gzip, of one or more members. It ignores what follows them and is not gzip: some
// servers append a comment or a timing to every answer.
type gunzip struct {
	z  *gzip.Reader
	in *bufio.Reader
}

func newGunzip(in *bufio.Reader) (*gunzip, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gunzip{z, in}, nil
}

// Read implements [io.Reader].
func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if err != io.EOF { //nolint:errorlint // as io.Reader has it
		return n, err
	}
	if !isGzip(g.in) || g.z.Reset(g.in) != nil {
		return n, io.EOF
	}
	g.z.Multistream(false)
	return n, nil
}

func isGzip(b *bufio.Reader) bool {
	head, _ := b.Peek(2) // a read error shows again at the next read
	return len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b
}

// unlabelled decompresses content that is gzip without a header that says so: a .gz file, or a
// server that forgets the header. The file may have been compressed twice, again for the transfer.
func unlabelled(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	for range 2 {
		if !isGzip(b) {
			break
		}
		z, err := newGunzip(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReader(http.MaxBytesReader(nil, io.NopCloser(z), maxMaxBytes))
	}
	return b, nil
}
