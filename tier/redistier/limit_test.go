package redistier_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/tier/redistier"
)

// played is a connection that answers with a stream from the test.
type played struct {
	net.Conn
	r io.Reader
}

func (p *played) Read(b []byte) (int, error) { return p.r.Read(b) }

// dialPlayed returns a limited connection that receives stream.
func dialPlayed(t testing.TB, stream io.Reader, size int64) net.Conn {
	t.Helper()
	dial := redistier.LimitReplies(func(context.Context, string, string) (net.Conn, error) {
		return &played{r: stream}, nil
	}, size)
	c, err := dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatalf("dial = %v", err)
	}
	return c
}

func TestLimitReplies(t *testing.T) {
	text := strings.Repeat("x", 100)
	for _, tc := range []struct {
		name, stream string
		refused      bool
	}{
		{"string at the limit", "$100\r\n" + text + "\r\n+OK\r\n", false},
		{"string over the limit", "$101\r\nx", true},
		{"verbatim string over the limit", "=101\r\nx", true},
		{"long error over the limit", "!101\r\nx", true},
		{"terabytes", "$9999999999999\r\n", true},
		{"overflow", "$99999999999999999999\r\n", true},
		{"no number", "$ten\r\n", true},
		{"no length", "$\r\n", true},
		{"nil", "$-1\r\n*-1\r\n_\r\n", false},
		{"lengths inside a string are text", "$16\r\n$9999999999999\r\n\r\n:1\r\n", false},
		{"length after a string", "$3\r\n$$$\r\n$101\r\n", true},
		{"array", "*2\r\n$1\r\na\r\n:12345678901234567890123\r\n", false},
		{"array over the limit", "*9999999999999\r\n", true},
		{"string over the limit in an array", "*1\r\n$101\r\n", true},
		{"map over the limit", "%524289\r\n", true},
		{"map at the limit", "%524288\r\n", false},
		{"arrays in an array", "*2\r\n*1048575\r\n", false},
		{"arrays in an array over the limit", "*2\r\n*1048576\r\n", true},
		{"maps in attributes over the limit", "|1\r\n%524288\r\n", true},
		{"many arrays, one after another", strings.Repeat("*2\r\n*2\r\n$1\r\na\r\n:1\r\n%1\r\n+a\r\n_\r\n", 1<<18), false},
		{"push over the limit", ">1048577\r\n", true},
		{"set over the limit", "~1048577\r\n", true},
		{"attributes over the limit", "|524289\r\n", true},
		{"many elements", "*1048576\r\n", false},
		{"simple replies", "+PONG\r\n-ERR no\r\n:5\r\n#t\r\n,1.5\r\n(123\r\n", false},
		{"endless line", "+" + strings.Repeat("x", 1<<17), true},
		{"empty line", "\r\n\n+OK\r\n", false},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"":              func(r io.Reader) io.Reader { return r },
			" byte by byte": iotest.OneByteReader,
		} {
			t.Run(tc.name+name, func(t *testing.T) {
				c := dialPlayed(t, wrap(strings.NewReader(tc.stream)), 100)
				got, err := io.ReadAll(c)
				if errors.Is(err, redistier.ErrReplySize) != tc.refused {
					t.Errorf("read = %v, want it refused: %v", err, tc.refused)
				}
				if n, again := c.Read(make([]byte, 1)); tc.refused && (n != 0 || !errors.Is(again, err)) {
					t.Errorf("read after the end = %d, %v; want 0, %v", n, again, err)
				}
				if !tc.refused && string(got) != tc.stream {
					t.Errorf("read %d bytes, want all %d", len(got), len(tc.stream))
				}
			})
		}
	}
}

// FuzzLimitReplies: however the stream is cut into pieces, the verdict is the same, and the bytes
// that pass are the bytes that were sent.
func FuzzLimitReplies(f *testing.F) {
	f.Add([]byte("$3\r\nabc\r\n*1\r\n$101\r\n"), 2)
	f.Add([]byte("+OK\r\n$9999999999999\r\n"), 5)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		cut = min(max(cut, 0), len(stream))
		whole := dialPlayed(t, bytes.NewReader(stream), 100)
		pieces := dialPlayed(t, io.MultiReader(bytes.NewReader(stream[:cut]), bytes.NewReader(stream[cut:])), 100)
		got, err := io.ReadAll(whole)
		_, err2 := io.ReadAll(pieces)
		if (err == nil) != (err2 == nil) {
			t.Errorf("whole: %v, cut at %d: %v", err, cut, err2)
		}
		if err == nil && !bytes.Equal(got, stream) {
			t.Errorf("read %q, want %q", got, stream)
		}
	})
}

// The lengths here would end this process without the limit.
func TestLimitRepliesSavesTheProcess(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	opts := s.Options()
	opts.Addr = p.Addr()
	opts.Dialer = redistier.LimitReplies(nil, 1<<20)
	r := newTier(t, closed(t, redis.NewClient(opts)))
	for _, reply := range []string{"$9999999999999\r\n", "*9999999999999\r\n", "$60000000000\r\n", strings.Repeat("*1048576\r\n", 4000)} {
		store(t, r, "warm")
		p.Garbage([]byte(reply))
		for name, err := range ops(t, r, deadline) {
			if err == nil {
				t.Errorf("%s answered by %q = nil, want an error", name, reply)
			}
		}
		_, err := r.Get(t.Context(), "k")
		if !errors.Is(err, redistier.ErrReplySize) {
			t.Errorf("Get answered by %q = %v, want %v", reply, err, redistier.ErrReplySize)
		}
		p.Drop()
		p.Pass()
		wantBack(t, r)
		if err := r.Unlink(t.Context(), "warm"); err != nil {
			t.Fatalf("Unlink = %v", err)
		}
	}
}

// The client library checks idle sockets below Read. A limited connection must allow that.
func TestLimitRepliesKeepsHealthChecks(t *testing.T) {
	s := redistest.Start(t)
	c, err := redistier.LimitReplies(nil, 0)(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatalf("dial = %v", err)
	}
	defer c.Close()
	sc, ok := c.(syscall.Conn)
	if !ok {
		t.Fatalf("a limited TCP connection is not a syscall.Conn")
	}
	if _, err := sc.SyscallConn(); err != nil {
		t.Errorf("SyscallConn = %v", err)
	}
	gone := errors.New("gone")
	dial := redistier.LimitReplies(func(context.Context, string, string) (net.Conn, error) { return nil, gone }, 0)
	if _, err := dial(t.Context(), "tcp", ""); !errors.Is(err, gone) {
		t.Errorf("dial = %v, want %v", err, gone)
	}
}

func BenchmarkLimitReplies(b *testing.B) {
	reply := []byte("$1024\r\n" + strings.Repeat("x", 1024) + "\r\n")
	for name, limited := range map[string]bool{"bare": false, "limited": true} {
		b.Run(name, func(b *testing.B) {
			r := &repeat{reply}
			var c net.Conn = &played{r: r}
			if limited {
				c = dialPlayed(b, r, 0)
			}
			buf := make([]byte, len(reply))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Read(buf)
			}
		})
	}
}

type repeat struct{ reply []byte }

func (r *repeat) Read(p []byte) (int, error) { return copy(p, r.reply), nil }
