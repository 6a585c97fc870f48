package collector_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// killedTask makes the test binary a digest program that runs a task and then waits.
const killedTask = "COLLECTOR_TEST_TASK"

// task is one run of the digest program: collect, then generate for all users.
type task struct {
	DB     string
	Ledger string // a file with a line for each call of the model, written before the call
	Now    time.Time
	Hang   bool // hang in the first call
}

// killed is the program. The parent may kill it at each line that it prints.
func killed(data string) int {
	var todo task
	err := json.Unmarshal([]byte(data), &todo)
	if err == nil {
		err = todo.do(context.Background(), func(what string) { fmt.Println(what) })
	}
	if err != nil {
		fmt.Println("failed:", err)
		return exitFault
	}
	fmt.Println("idle")
	select {}
}

func (todo task) do(ctx context.Context, say func(what string)) (err error) {
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(ctx, todo.DB, store.Options{Now: func() time.Time { return todo.Now }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	svc, err := digest.Open(ctx, digest.Config{
		Store: db, Summariser: payer{todo, say}, ClaimTTL: 2 * time.Second, Bound: 10 * time.Second, Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	client, err := fetch.New(fetch.Config{Tiers: svc.Tiers(), UserAgent: "KillsTest/1.0", AllowPrivate: true, PerHost: ten, Logger: log})
	if err != nil {
		return err
	}
	defer client.Close()
	c, err := collector.New(collector.Config{
		Store: db, Tiers: svc.Tiers(), Log: log, Settings: collector.Settings{Concurrency: ten, PerHost: ten},
		Fetchers: fetchers.New(fetchers.Config{Client: client, Share: -1}),
	})
	if err != nil {
		return err
	}
	if err := c.RunOnce(ctx, nil); err != nil {
		return err
	}
	say("collected")
	return todo.generate(ctx, db, svc, say)
}

func (todo task) generate(ctx context.Context, db *store.Store, svc *digest.Service, say func(what string)) error {
	users, err := db.UserIDs(ctx, 0, 100)
	errs := make([]error, len(users))
	var all sync.WaitGroup
	for i, user := range users {
		all.Go(func() {
			_, errs[i] = svc.Generate(ctx, digest.Request{UserID: user, Kind: digest.FourHours})
			say("user")
		})
	}
	all.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// payer is a model that records its calls in the ledger before it answers.
type payer struct {
	todo task
	say  func(what string)
}

func (payer) Variant() summary.Variant { return summary.Variant{} }

func (p payer) Summarise(_ context.Context, r summary.Request) (summary.Summary, error) {
	var names []string
	text := "# Digest\n"
	for _, it := range r.Items {
		names = append(names, it.Source)
		text += "- " + it.Title + "\n"
	}
	slices.Sort(names)
	f, err := os.OpenFile(p.todo.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return summary.Summary{}, err
	}
	_, err = fmt.Fprintf(f, "%d %d/%s\n", os.Getpid(), r.Start.UnixMilli(), strings.Join(slices.Compact(names), "+"))
	if err := errors.Join(err, f.Close()); err != nil {
		return summary.Summary{}, err
	}
	p.say("call")
	if p.todo.Hang {
		p.say("hang")
		select {}
	}
	return summary.Summary{Markdown: fmt.Sprintf("%s\nby %d", text, os.Getpid()), Model: "payer", Items: len(r.Items)}, nil
}

// carnage is a database whose processes are killed.
type carnage struct {
	*world
	ledger string
	issues atomic.Int64 // published by each source
	dead   map[string]bool
	paid   map[string][]string // processes that had started to pay, by digest, when it was stored
}

// Sixty processes are killed, three at a time, at random moments, some during a paid call.
// No item is lost or stored twice. A stored digest is not paid again. Only a call that ran
// when its process was killed may be paid again.
func TestSixtyKills(t *testing.T) {
	const rounds, together, windows = 20, 3, 5
	w := newCarnage(t)
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	start := time.Date(2026, time.February, 25, 4, 10, 0, 0, time.UTC) // a period of four hours has just closed
	w.survive(start.Add(-time.Hour))
	for round := range rounds {
		now := start.Add(time.Duration(round/(rounds/windows))*4*time.Hour + time.Duration(round%(rounds/windows))*5*time.Minute)
		w.clock.add(now.Sub(w.clock.now()))
		w.issues.Add(1)
		w.massacre(together, task{DB: w.path, Ledger: w.ledger, Now: now, Hang: round%(rounds/windows) == 0}, dice.IntN(24))
		w.check()
		if (round+1)%(rounds/windows) == 0 {
			w.survive(now.Add(4 * time.Minute))
			w.check()
			w.everybodyServed()
		}
	}
	interrupted := 0
	for _, pids := range w.paid {
		interrupted += len(pids) - 1
	}
	if len(w.dead) != rounds*together || len(w.paid) != 3*windows || interrupted < windows {
		t.Errorf("%d processes killed, %d in a call, %d digests stored; want %d, %d at least, %d",
			len(w.dead), interrupted, len(w.paid), rounds*together, windows, 3*windows)
	}
}

func newCarnage(t *testing.T) *carnage {
	t.Helper()
	w := &carnage{world: newWorld(t), ledger: filepath.Join(t.TempDir(), "ledger"), dead: map[string]bool{}, paid: map[string][]string{}}
	w.issues.Store(1)
	origin := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		var titles []string
		for i := range w.issues.Load() {
			titles = append(titles, fmt.Sprint("issue ", i))
		}
		_, _ = io.WriteString(rw, feedOf(titles...))
	}))
	t.Cleanup(origin.Close)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range 3 {
			config := fmt.Sprintf(`{"url":"%s/%d","fetch_interval_minutes":1}`, origin.URL, i)
			if _, err := tx.AddSource(ctx, store.Source{Name: fmt.Sprint(i + 1), Type: "rss", Config: json.RawMessage(config), Public: true}); err != nil {
				return err
			}
		}
		for i, of := range [][]int64{{1}, {1, 2}, {1, 2, 3}, {1}, {1, 2}, {1, 2, 3}} {
			id, err := tx.AddUser(ctx, store.User{Slug: fmt.Sprint("u", i), Name: "U", Email: fmt.Sprint("u", i, "@example.com")})
			if err := errors.Join(err, tx.Subscribe(ctx, id, of...)); err != nil {
				return err
			}
		}
		return nil
	})
	return w
}

// survive runs a whole task in this process.
func (w *carnage) survive(now time.Time) {
	w.Helper()
	if err := (task{DB: w.path, Ledger: w.ledger, Now: now}).do(w.Context(), func(string) {}); err != nil {
		w.Fatal(err)
	}
}

// massacre starts n processes and kills them after a number of printed lines, which may
// be none, or when the first one hangs in its call.
func (w *carnage) massacre(n int, todo task, lines int) {
	w.Helper()
	data, err := json.Marshal(todo)
	if err != nil {
		w.Fatal(err)
	}
	said := make(chan string, 100)
	var all []*exec.Cmd
	var readers sync.WaitGroup
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env, cmd.Stderr = append(os.Environ(), killedTask+"="+string(data)), os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			w.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
		all = append(all, cmd)
		readers.Go(func() {
			for in := bufio.NewScanner(out); in.Scan(); {
				said <- in.Text()
			}
		})
	}
	for idle := 0; idle < n && (lines > 0 || todo.Hang); lines-- {
		what := <-said
		if strings.HasPrefix(what, "failed") {
			w.Errorf("a process %s", what)
		}
		if what == "idle" || strings.HasPrefix(what, "failed") {
			idle++
		}
		if what == "hang" {
			break
		}
	}
	for _, cmd := range all {
		_ = cmd.Process.Kill()
		w.dead[fmt.Sprint(cmd.Process.Pid)] = true
	}
	go func() { readers.Wait(); close(said) }()
	for range said { // until all have ended
	}
	for _, cmd := range all {
		_ = cmd.Wait()
	}
}

func (w *carnage) check() {
	w.Helper()
	data, err := os.ReadFile(w.ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	begun := map[string][]string{} // by digest
	for line := range strings.Lines(string(data)) {
		pid, digest, _ := strings.Cut(strings.TrimSpace(line), " ")
		begun[digest] = append(begun[digest], pid)
	}
	for digest, pids := range begun {
		unhurt := slices.DeleteFunc(slices.Clone(pids), func(pid string) bool { return w.dead[pid] })
		if len(unhurt) > 1 {
			w.Errorf("%s was paid for by %v, and nothing had killed %v", digest, pids, unhurt)
		}
	}
	for _, digest := range w.texts(`SELECT period_start || '/' || (SELECT group_concat(value, '+') FROM json_each(source_ids))
		FROM digest_cache WHERE state = 'ready'`) {
		if was, stored := w.paid[digest]; stored {
			if diff := cmp.Diff(was, begun[digest]); diff != "" {
				w.Errorf("%s was stored and is paid for again:\n%s", digest, diff)
			}
		}
		w.paid[digest] = begun[digest]
	}
	if got := w.texts(`PRAGMA integrity_check`); !slices.Equal(got, []string{"ok"}) {
		w.Errorf("the database is broken: %v", got)
	}
}

// everybodyServed checks that no item is missing or stored twice, that each user has the
// cached digest, and that the killed processes left no leases.
func (w *carnage) everybodyServed() {
	w.Helper()
	var want []string
	for i := range w.issues.Load() {
		want = append(want, fmt.Sprint("issue ", i))
	}
	for id := range int64(3) {
		if diff := cmp.Diff(want, w.texts(`SELECT title FROM raw_items WHERE source_id = ? ORDER BY item_key`, id+1), sorted); diff != "" {
			w.Errorf("items of source %d (-want +got):\n%s", id+1, diff)
		}
		if s := w.state(id + 1); !s.ClaimedUntil.IsZero() || s.ErrorCount != 0 {
			w.Errorf("source %d is still claimed or has failed: %+v", id+1, s)
		}
	}
	others := w.texts(`SELECT d.user_id || ' of ' || c.period_start FROM digest_cache c
		JOIN user_subscription_hashes h ON h.subscription_hash = c.sources_hash
		LEFT JOIN digests d ON d.user_id = h.user_id AND d.metadata ->> '$.period_start' = c.period_start
		WHERE c.state = 'ready' AND c.period_end = (SELECT max(period_end) FROM digest_cache) AND d.content IS NOT c.content`)
	if len(others) > 0 {
		w.Errorf("users whose digest is not the cached one: %v", others)
	}
	if drift, err := w.db.Verify(w.Context(), false); err != nil || len(drift) > 0 {
		w.Errorf("drift %v, %v", drift, err)
	}
}

var sorted = cmp.Transformer("sorted", func(all []string) []string { return slices.Sorted(slices.Values(all)) })

func (w *carnage) texts(query string, args ...any) (all []string) {
	w.Helper()
	_, readers := w.db.Pools()
	rows, err := readers.QueryContext(w.Context(), query, args...)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			w.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return all
}
