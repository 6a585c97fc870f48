package httpcache_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// One process invalidates a page. Another one, which has not heard of it, answers a request with that process's ticket by
// a new page, with both presets. Without Tickets the header means nothing.
func TestTickets(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg       httpcache.Config
		harm      func(*logtest.Faulty)
		ticket    string   // "": that of the process that wrote
		header    []string // of the request, before the ticket; "known" is a ticket from before the write
		status    int
		how, body string
	}{
		"Shared":             {httpcache.Config{Tickets: true}, nil, "", nil, http.StatusOK, "fwd=uri-miss;stored", "rendering 2"},
		"Pages":              {httpcache.Config{Tickets: true, Preset: httpcache.Pages}, nil, "", nil, http.StatusOK, "fwd=uri-miss;stored", "rendering 2"},
		"the log hangs":      {httpcache.Config{Tickets: true}, func(f *logtest.Faulty) { f.Hang(true) }, "", nil, http.StatusOK, "fwd=bypass;detail=ticket", "rendering 2"},
		"only-if-cached":     {httpcache.Config{Tickets: true}, func(f *logtest.Faulty) { f.Hang(true) }, "", []string{"Cache-Control", "only-if-cached"}, http.StatusGatewayTimeout, "fwd=bypass;detail=not-fresh", "Gateway Timeout\n"},
		"two tickets":        {httpcache.Config{Tickets: true}, nil, "", []string{httpcache.TicketHeader, "known"}, http.StatusOK, "fwd=uri-miss;stored", "rendering 2"},
		"no ticket":          {httpcache.Config{Tickets: true}, nil, "soon", nil, http.StatusBadRequest, "", ""},
		"without the config": {httpcache.Config{}, nil, "", nil, http.StatusOK, "hit", "rendering 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, remote, o := logtest.NewMemory(logtest.MemoryConfig{}), tiertest.NewMemory(), &counted{header: http.Header{"Cache-Control": {"max-age=3600"}}}
				link := logtest.NewFaulty(l)
				writer, reader := openFollowing(t, remote, l), openFollowing(t, remote, link)
				tt.cfg.Tiers = reader
				s := proxied(t, o, tt.cfg)
				link.DropTail(true)
				s.get(t, "/")
				for i, value := range tt.header {
					if value == "known" {
						tt.header[i] = writer.Ticket()
					}
				}
				if err := writer.Invalidate(t.Context(), invalidate.All()); err != nil {
					t.Fatal(err)
				}
				ticket := tt.ticket
				if ticket == "" {
					ticket = writer.Ticket()
				}
				sleep(t, "1ms")
				if tt.harm != nil {
					tt.harm(link)
				}
				got := s.get(t, "/", append(tt.header, httpcache.TicketHeader, ticket)...)
				if got.status != tt.status || tt.body != "" && (got.body != tt.body || !strings.HasPrefix(got.how(), tt.how)) {
					t.Errorf("%v, want %d, %q and %q", got, tt.status, tt.how, tt.body)
				}
				link.Heal()
			})
		})
	}
}
