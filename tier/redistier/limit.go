package redistier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Dialer is the type of the field Dialer of go-redis options.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// ErrReplySize ends a connection of [LimitReplies] whose server announced a length over the
// limit, or an invalid length.
var ErrReplySize = errors.New("redistier: reply announces a length over the limit")

const (
	maxElements = 1 << 20    // that one reply announces and has not sent yet
	maxLine     = 64 << 10   // of an error or a status, in bytes
	maxLength   = 1 + 19 + 1 // a type, the digits of an int64, and a carriage return
)

// LimitReplies returns a dialer for untrusted servers. Its connections break with [ErrReplySize]
// when the server announces a string of more than size bytes, or more than a million (1<<20) elements of
// arrays that it has not sent yet. A map or attributes of n pairs have 2n elements. So HGETALL of a hash with
// more than half a million fields needs a client without this dialer, or HSCAN. Without it, the client library
// allocates the announced length before it reads any of it. A process that allocates more memory than there is
// ends, and recover cannot help:
//
//	redis.NewClient(redistier.Options(&redis.Options{Addr: addr, Dialer: redistier.LimitReplies(nil, 64<<20)}))
//
// dial makes the connections. It must add TLS if needed, because the client does not add TLS to
// the connections of a Dialer. Nil dials plain TCP. A size of zero or less means [MaxCell]. The
// check only looks at lengths, and costs about ten nanoseconds per reply.
func LimitReplies(dial Dialer, size int64) Dialer {
	if dial == nil {
		d := &net.Dialer{Timeout: 5 * time.Second}
		dial = d.DialContext
	}
	if size <= 0 {
		size = MaxCell
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		limited := &limitedConn{Conn: c, replies: replies{size: size}}
		if sc, ok := c.(syscall.Conn); ok {
			return &limitedSocket{limitedConn: limited, socket: sc}, nil
		}
		return limited, nil
	}
}

// limitedConn supports one reading goroutine at a time, like the client library.
type limitedConn struct {
	net.Conn
	replies replies
	bad     error // once set, Read only returns this error
}

// Read returns bytes as long as no length exceeds the limit. It does not close the connection:
// the client closes it after the error, and may read again before that.
func (c *limitedConn) Read(p []byte) (int, error) {
	if c.bad != nil {
		return 0, c.bad
	}
	n, err := c.Conn.Read(p)
	if c.bad = c.replies.scan(p[:n]); c.bad != nil {
		return 0, c.bad // return none of the bytes: they may contain the length
	}
	return n, err
}

// limitedSocket lets the client library check whether an idle connection is alive. The check
// needs the socket itself.
type limitedSocket struct {
	*limitedConn
	socket syscall.Conn
}

// SyscallConn returns the raw connection.
func (c *limitedSocket) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }

// replies follows a stream of RESP closely enough to tell the lengths in it from the bytes of
// strings. It keeps only a few bytes.
type replies struct {
	size int64 // the most bytes of a string
	skip int64 // bytes left of the current string
	left int64 // elements left of the current arrays; arrays in an array add up
	line int   // length of the current line so far
	head []byte
}

// scan checks the next bytes of the stream.
func (r *replies) scan(p []byte) error {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, int64(len(p)))
			r.skip -= n
			p = p[n:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		r.line += len(part)
		r.head = append(r.head, part[:min(len(part), maxLength+1-len(r.head))]...)
		if r.line > maxLine {
			return fmt.Errorf("%w: a line of over %d bytes", ErrReplySize, maxLine)
		}
		if end < 0 {
			return nil
		}
		if err := r.endLine(); err != nil {
			return err
		}
		p = p[end+1:]
	}
	return nil
}

// endLine checks a complete line, which is an element or the head of one.
func (r *replies) endLine() error {
	line := bytes.TrimSuffix(r.head, []byte{'\r'})
	r.head, r.line = r.head[:0], 0
	if len(line) == 0 {
		return nil // the client library refuses it
	}
	if line[0] != '|' { // attributes come before an element
		r.left = max(r.left-1, 0)
	}
	switch line[0] {
	case '$', '=', '!':
		n, err := length(line, r.size)
		if n >= 0 {
			r.skip = n + 2
		}
		return err
	case '*', '~', '>':
		n, err := length(line, maxElements-r.left)
		r.left += max(n, 0)
		return err
	case '%', '|': // pairs
		n, err := length(line, (maxElements-r.left)/2)
		r.left += 2 * max(n, 0)
		return err
	}
	return nil // not a length
}

// length reads the length in a line.
func length(line []byte, most int64) (int64, error) {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: not a number", ErrReplySize)
	}
	if n > most {
		return 0, fmt.Errorf("%w: %d, at most %d", ErrReplySize, n, most)
	}
	return n, nil
}
