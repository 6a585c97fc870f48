package remote

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/twofold-go/twofold/codec"
)

// row is a typical value: short fields, and text that repeats.
type row struct {
	ID    int64    `json:"id"`
	Title string   `json:"title"`
	Link  string   `json:"link"`
	Tags  []string `json:"tags"`
}

func rowsOf(size int) (rows []row) {
	for n := 0; n < size; n += 145 {
		rows = append(rows, row{
			ID: int64(n) * 7919, Title: fmt.Sprintf("An article about number %d and its neighbours", n),
			Link: fmt.Sprintf("https://example.com/articles/%d", n*7919), Tags: []string{"number", "theory"},
		})
	}
	return rows
}

// BenchmarkCompact measures what default compression costs a fill and a remote hit. It
// alternates the two ways. A busy machine then slows both equally.
func BenchmarkCompact(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) { benchmarkCompact(b, rowsOf(size)) })
	}
}

func benchmarkCompact(b *testing.B, rows []row) {
	ways := [2]*Payloads{{Codec: codec.JSON, ValueType: reflect.TypeFor[[]row]()}, {Codec: codec.JSON, ValueType: reflect.TypeFor[[]row](), SnappyID: "json+snappy"}}
	readers := map[string]codec.Codec{"json": codec.JSON, "json+snappy": codec.Snappy(codec.JSON, 0)}
	var write, read [2]time.Duration
	var size [2]int
	for b.Loop() {
		for i, s := range ways {
			start := time.Now()
			e, err := s.Encode(&rows, 1<<20)
			write[i] += time.Since(start)
			if err != nil {
				b.Fatal(err)
			}
			size[i] = len(e.Data)
			var back []row
			start = time.Now()
			err = codec.UnmarshalWithin(readers[e.Codec], e.Data, &back, 1<<20, true)
			read[i] += time.Since(start)
			if err != nil || !reflect.DeepEqual(back, rows) {
				b.Fatal("the decoded value differs", err)
			}
		}
	}
	for i, name := range []string{"plain", "default"} {
		b.ReportMetric(float64(write[i].Nanoseconds())/float64(b.N), name+"-write-ns")
		b.ReportMetric(float64(read[i].Nanoseconds())/float64(b.N), name+"-read-ns")
		b.ReportMetric(float64(size[i]), name+"-bytes")
	}
}
