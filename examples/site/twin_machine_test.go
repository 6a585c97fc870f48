package main

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A run of the machine has stepsOfRun steps on average. There are enough runs for minSteps
// steps.
const (
	stepsOfRun = 300
	minSteps   = 2_000
	minHits    = 0.2 // share of reads: answers that no cache serves prove nothing about caches
)

// After any writes and reads, the cached site answers exactly like the one without caches.
func TestTwins(t *testing.T) {
	const want = minSteps
	seed := setRapid(t)
	var m machine
	for run := 0; m.steps < want || m.few() && m.steps < 10*want; run++ { // many short runs may have few hits
		set(t, "rapid.seed", strconv.FormatUint(seed+uint64(run), 10))
		rapid.Check(t, func(rt *rapid.T) { m.run(t, rt) })
	}
	t.Logf("%d steps from -rapid.seed=%d on: %d writes, %d refused; %d reads, %.0f%% of them hits",
		m.steps, seed, m.writes, m.fails, m.reads, 100*m.share())
	if m.few() {
		t.Errorf("%d writes in %d steps, %.0f%% hits: too few to show anything", m.writes, m.steps, 100*m.share())
	}
}

// setRapid sets the length of a run, and returns the seed of the first run.
func setRapid(t *testing.T) (seed uint64) {
	t.Helper()
	seed = rand.Uint64N(1 << 48)
	if s, err := strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 10, 64); err == nil && s != 0 {
		seed = s
	}
	set(t, "rapid.checks", "1")
	set(t, "rapid.steps", strconv.Itoa(stepsOfRun))
	return seed
}

// set sets a flag until the test ends.
func set(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, old) })
}

type machine struct{ steps, writes, fails, reads, hits int }

func (m *machine) share() float64 { return float64(m.hits) / float64(m.reads) }

// few reports whether the machine did too little to show anything.
func (m *machine) few() bool { return m.share() < minHits || m.writes < m.steps/8 }

func (m *machine) run(t *testing.T, rt *rapid.T) {
	w := newTwins(t, patiently)
	defer w.close()
	read := func(rt *rapid.T) {
		m.steps++
		w.look(rt, drawDice(rt), 1)
	}
	rt.Repeat(map[string]func(*rapid.T){"read": read, "read more": read, "write": func(rt *rapid.T) {
		m.steps++
		roll := drawDice(rt)
		rt.Log(w.write(roll))
		w.look(rt, roll, 2)
	}})
	m.writes, m.fails = m.writes+w.writes, m.fails+w.fails
	m.reads, m.hits = m.reads+w.reads, m.hits+w.hits
	if d := w.everywhere(); d != "" {
		rt.Fatal(d)
	}
}

// drawDice returns dice for one step. Few draws let rapid leave out steps of a failed run.
func drawDice(rt *rapid.T) dice { return rand.New(rand.NewPCG(seeds.Draw(rt, "dice"), 0)).IntN }

// seeds are made of bits, because rapid prefers small numbers.
var seeds = rapid.Custom(func(rt *rapid.T) (seed uint64) {
	for range 24 {
		seed <<= 1
		if rapid.Bool().Draw(rt, "bit") {
			seed++
		}
	}
	return seed
})

func (w *twins) look(rt *rapid.T, roll dice, n int) {
	for range n {
		if d := w.differ(w.cached, w.request(roll)); d != "" {
			rt.Fatal(d)
		}
	}
}
