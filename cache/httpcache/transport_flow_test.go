package httpcache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// slow is an origin whose body a test writes.
func slow(pairs ...string) (*upstream, *io.PipeWriter) {
	resp, out := bodyFrom(pairs...)
	return scripted(func(r *http.Request) *http.Response {
		context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
		return resp.Response
	}, replies(200, "again", pairs...)), out
}

// 32 callers with equal requests share one request, and all get the body.
func TestTransportMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, out := slow("Cache-Control", minute)
		c := transport(t, o, httpcache.TransportConfig{})
		answers := make(chan answer, 32)
		for range cap(answers) {
			go func() { answers <- c.get(t) }()
		}
		synctest.Wait()
		_, _ = io.WriteString(out, "the ")
		synctest.Wait()
		_, _ = io.WriteString(out, "body")
		_ = out.Close()
		collapsed := 0
		for range cap(answers) {
			a := <-answers
			if a.body != "the body" {
				t.Errorf("%v", a)
			}
			if strings.Contains(a.how(), "collapsed") {
				collapsed++
			}
		}
		if o.asked() != 1 || collapsed != 31 {
			t.Errorf("%d requests, %d callers waited for another's", o.asked(), collapsed)
		}
		if s := c.Stats(); s.Misses != 1 || s.Coalesced != 31 || s.Stored != 1 {
			t.Errorf("counted %+v", s)
		}
	})
}

// The caller whose request is sent reads the body as it comes. It is stored, however long that takes.
func TestTransportStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, out := slow("Cache-Control", minute)
		c := transport(t, o, httpcache.TransportConfig{Policy: policy.Patch{LoadTimeout: new(time.Second)}})
		resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		for _, part := range []string{"one", "two", "three"} {
			_, _ = io.WriteString(out, part)
			if n, err := resp.Body.Read(b); string(b[:n]) != part || err != nil {
				t.Errorf("read %q, %v; want %q", b[:n], err, part)
			}
			sleep(t, "1s") // longer than LoadTimeout
		}
		_ = out.Close()
		if n, err := resp.Body.Read(b); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d bytes, %v", n, err)
		}
		if err := errors.Join(resp.Body.Close(), resp.Body.Close()); err != nil {
			t.Error(err)
		}
		if _, err := resp.Body.Read(b); err == nil || err == io.EOF {
			t.Errorf("a closed body says %v", err)
		}
		synctest.Wait()
		if a := c.get(t); a.body != "onetwothree" || !a.hit() || o.asked() != 1 {
			t.Errorf("%v, asked %d times", a, o.asked())
		}
	})
}

// A body that takes longer than LoadTimeout is read for its caller only. When the caller leaves, the
// request ends, and nothing is stored.
func TestTransportLeavesASlowBody(t *testing.T) {
	for name, leave := range map[string]func(*http.Response, func()){
		"closed":    func(resp *http.Response, _ func()) { _ = resp.Body.Close() },
		"cancelled": func(_ *http.Response, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, out := slow("Cache-Control", minute)
				c := transport(t, o, httpcache.TransportConfig{Policy: policy.Patch{LoadTimeout: new(time.Second)}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.WriteString(out, "one")
				sleep(t, "5s")
				leave(resp, cancel)
				synctest.Wait()
				if err := o.last().Context().Err(); err == nil {
					t.Error("the request goes on")
				}
				_ = resp.Body.Close()
				_ = out.CloseWithError(io.ErrUnexpectedEOF)
				synctest.Wait()
				if st := c.Stats(); st.Stored != 0 || c.Held() != 0 {
					t.Errorf("%+v, %d bytes held", st, c.Held())
				}
			})
		})
	}
}

// A body that is cut short or too long is not stored. Its caller gets what arrived; waiting
// callers send their own requests.
func TestTransportStoresOnlyWholeBodies(t *testing.T) {
	const limit = 8
	for name, c := range map[string]struct {
		end    func(r *http.Response, out *io.PipeWriter)
		body   string
		stored bool
	}{
		"whole":           {func(_ *http.Response, out *io.PipeWriter) { _ = out.Close() }, "12345678", true},
		"cut":             {func(_ *http.Response, out *io.PipeWriter) { _ = out.CloseWithError(io.ErrUnexpectedEOF) }, "12345678 and then: unexpected EOF", false},
		"shorter than it": {func(r *http.Response, out *io.PipeWriter) { r.ContentLength = 20; _ = out.Close() }, "12345678", false},
		"too long": {func(_ *http.Response, out *io.PipeWriter) {
			_, _ = io.WriteString(out, "9")
			_, _ = io.WriteString(out, "and more")
			_ = out.Close()
		}, "123456789and more", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, out := bodyFrom("Cache-Control", minute)
				if name == "shorter than it" {
					resp.ContentLength = limit
				}
				o := scripted(func(*http.Request) *http.Response { return resp.Response }, replies(200, "again", "Cache-Control", minute))
				tr := transport(t, o, httpcache.TransportConfig{MaxBody: limit})
				first, waits := make(chan answer, 1), make(chan answer, 1)
				go func() { first <- tr.get(t) }()
				synctest.Wait()
				go func() { waits <- tr.get(t) }()
				synctest.Wait()
				body := "12345678"
				if name == "shorter than it" {
					body = "1234567"
				}
				_, _ = io.WriteString(out, body)
				c.end(&http.Response{}, out)
				if a := <-first; a.body != strings.Replace(c.body, "12345678", body, 1) {
					t.Errorf("the first caller gets %v", a)
				}
				want := "again"
				if c.stored {
					want = c.body
				}
				if a := <-waits; a.body != want {
					t.Errorf("the waiting caller gets %v", a)
				}
				if a := tr.get(t); a.hit() != c.stored || a.body != want {
					t.Errorf("then %v", a)
				}
			})
		})
	}
}

// A caller that closes the body early, or leaves, does not harm another. After the last one the
// request ends, and nothing is stored.
func TestTransportCallersLeave(t *testing.T) {
	for _, others := range []bool{false, true} {
		for _, how := range []string{"closes", "cancels", "cancels before the header"} {
			t.Run(fmt.Sprint(how, others), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					resp, out := bodyFrom("Cache-Control", minute)
					headers := make(chan struct{})
					o := scripted(func(r *http.Request) *http.Response {
						context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
						select {
						case <-headers:
							return resp.Response
						case <-r.Context().Done():
							return nil
						}
					}, replies(200, "again"))
					c := transport(t, o, httpcache.TransportConfig{})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var wg sync.WaitGroup
					wg.Go(func() {
						resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL).WithContext(ctx))
						if how == "cancels before the header" {
							if !errors.Is(err, context.Canceled) {
								t.Errorf("%v, %v", resp, err)
							}
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						if how == "cancels" {
							if b, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
								t.Errorf("%q, %v", b, err)
							}
						}
						_ = resp.Body.Close()
					})
					synctest.Wait()
					var second answer
					if others {
						wg.Go(func() { second = c.get(t) })
						synctest.Wait()
					}
					if how != "cancels before the header" {
						close(headers)
						synctest.Wait()
					}
					cancel()
					synctest.Wait()
					if how == "cancels before the header" && others {
						close(headers)
						synctest.Wait()
					}
					if !others {
						if o.last().Context().Err() == nil {
							t.Error("the request continues without a caller")
						}
						wg.Wait()
						if a := c.get(t); a.body != "again" {
							t.Errorf("then %v", a)
						}
						return
					}
					_, _ = io.WriteString(out, "body")
					_ = out.Close()
					wg.Wait()
					if second.body != "body" || o.asked() != 1 {
						t.Errorf("the waiting caller gets %v after %d requests", second, o.asked())
					}
					if a := c.get(t); !a.hit() || a.body != "body" {
						t.Errorf("then %v", a)
					}
				})
			})
		}
	}
}

// A caller that reads slowly delays no other.
func TestTransportSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("x", 1<<20)
		c := transport(t, scripted(replies(200, body, "Cache-Control", minute), down), httpcache.TransportConfig{})
		resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if a := c.get(t); a.body != body {
			t.Errorf("%d bytes, %v", len(a.body), a.header)
		}
		if a := readAll(t, resp); a.body != body {
			t.Errorf("the slow one reads %d bytes", len(a.body))
		}
	})
}

// Errors of Base reach all waiting callers as they are, and are not stored.
func TestTransportFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan struct{})
		o := scripted(func(*http.Request) *http.Response {
			<-fail
			return nil
		}, replies(200, "ok", "Cache-Control", minute))
		c := transport(t, o, httpcache.TransportConfig{})
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() {
				resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
				if resp != nil {
					_ = resp.Body.Close()
				}
				errs <- err
			}()
		}
		synctest.Wait()
		close(fail)
		for range cap(errs) {
			if err := <-errs; err != errDown { //nolint:errorlint // as it is
				t.Errorf("the error is %v", err)
			}
		}
		if a := c.get(t); a.body != "ok" || o.asked() != 2 {
			t.Errorf("then %v after %d requests", a, o.asked())
		}
	})
}
