package codec_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/codec"
)

// item is a typical cached value: short fields and text with repetitions.
type item struct {
	ID    int64    `json:"id"`
	Title string   `json:"title"`
	Link  string   `json:"link"`
	Score float64  `json:"score"`
	Tags  []string `json:"tags"`
}

func items(size int) []item {
	var out []item
	for n := 0; n < size; n += 150 {
		out = append(out, item{
			ID: int64(n) * 7919, Title: fmt.Sprintf("An article about number %d and its neighbours", n),
			Link: fmt.Sprintf("https://example.com/articles/%d", n), Score: float64(n) / 7, Tags: []string{"number", "theory"},
		})
	}
	return out
}

func benchmark(b *testing.B, run func(b *testing.B, c codec.Codec, value []item)) {
	for _, size := range []int{1 << 10, 10 << 10} {
		value := items(size)
		for _, base := range []codec.Codec{codec.JSON, codec.CBOR} {
			for _, c := range forms(base) {
				b.Run(fmt.Sprintf("%s/%dKB", c.ID(), size>>10), func(b *testing.B) { run(b, c, value) })
			}
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	benchmark(b, func(b *testing.B, c codec.Codec, value []item) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.Marshal(value)
		}
		b.ReportMetric(float64(len(mustMarshal(b, c, value))), "bytes")
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	benchmark(b, func(b *testing.B, c codec.Codec, value []item) {
		data := mustMarshal(b, c, value)
		b.ReportAllocs()
		for b.Loop() {
			var out []item
			_ = c.Unmarshal(data, &out)
		}
	})
}
