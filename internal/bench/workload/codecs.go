package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// Workload F encodes and decodes records of several sizes with every codec of the library. The
// compressing codecs are configured to try all of them.

const (
	encodeNs = "encode-ns/op"
	decodeNs = "decode-ns/op"
	encoded  = "bytes"
	decodeAl = "decode-allocs/op"
)

// Record is a value of mixed types. The list determines its size.
type Record struct {
	ID      int64             `json:"id"`
	Name    string            `json:"name"`
	Score   float64           `json:"score"`
	Active  bool              `json:"active"`
	Labels  map[string]string `json:"labels"`
	Entries []Entry           `json:"entries"`
}

// Entry is an element of a Record, with about 100 bytes as JSON.
type Entry struct {
	At   int64  `json:"at"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// recordOf returns a record of about size bytes as JSON.
func recordOf(size int) Record {
	r := Record{ID: 7, Name: "Grace Hopper", Score: 0.875, Active: true, Labels: map[string]string{"lang": "en"}}
	words := strings.Fields("the quick brown fox jumps over the lazy dog and finds nothing new under the sun")
	for i := 0; size > 150 && i < (size-120)/100; i++ {
		r.Entries = append(r.Entries, Entry{
			At: int64(1_700_000_000 + i*37), Kind: words[i%len(words)],
			Text: strings.Join(words[i%4:i%4+8], " ") + strconv.Itoa(i*7919),
		})
	}
	return r
}

var recordSizes = []int{100, 1000, 10_000, 100_000}

func codecSetting(size int) string {
	if size >= 1000 {
		return fmt.Sprintf("%d KB", size/1000)
	}
	return fmt.Sprintf("%d B", size)
}

func codecLine(size int, who string) report.Line {
	return report.Line{Workload: "F", Setting: codecSetting(size), Contender: who}
}

// codecsTried returns the codecs for any value; Raw has nothing to encode.
func codecsTried() (all []codec.Codec) {
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR} {
		all = append(all, c, codec.Snappy(c, -1), codec.Deflate(c, -1))
	}
	return all
}

func runCodecs(ctx context.Context, e *Env) error {
	for _, size := range recordSizes {
		r := recordOf(size)
		var cs []measure.Contender
		for _, c := range codecsTried() {
			cs = append(cs, measure.Contender{Name: c.ID(), Measure: func(ctx context.Context) error {
				return e.code(ctx, codecLine(size, c.ID()), c, &r)
			}})
		}
		if err := measure.Rounds(ctx, e.Rounds, cs); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) code(ctx context.Context, l report.Line, c codec.Codec, r *Record) error {
	cell, err := c.Marshal(r)
	if err != nil {
		return err
	}
	var failed error
	note := func(err error) {
		if err != nil {
			failed = err
		}
	}
	cfg := measure.Config{Warm: e.ms(5, 2, 0), For: e.ms(50, 20, 2)}
	in := measure.Run(ctx, cfg, func(int) func(int) {
		return func(int) {
			_, err := c.Marshal(r)
			note(err)
		}
	})
	out := measure.Run(ctx, cfg, func(int) func(int) {
		return func(int) {
			var back Record
			note(c.Unmarshal(cell, &back))
		}
	})
	e.Book.Add(l, encodeNs, in.NsPerOp())
	e.Book.Add(l, decodeNs, out.NsPerOp())
	e.Book.Add(l, encoded, float64(len(cell)))
	e.Book.Add(l, decodeAl, out.Allocs)
	return failed
}

func codecTables(e *Env) []report.Table {
	var names, settings []string
	for _, c := range codecsTried() {
		names = append(names, c.ID())
	}
	for _, size := range recordSizes {
		settings = append(settings, codecSetting(size))
	}
	var out []report.Table
	for _, t := range []report.Comparison{
		{Title: "F: encoding", Unit: encodeNs}, {Title: "F: decoding", Unit: decodeNs}, {Title: "F: encoded size", Unit: encoded},
	} {
		t.Workload, t.Settings, t.Contenders, t.Reference = "F", settings, names, codec.JSON.ID()
		out = append(out, t.Table(&e.Book))
	}
	return out
}
