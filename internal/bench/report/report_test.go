package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/bench/report"
)

func line(setting, who string) report.Line {
	return report.Line{Workload: "A", Setting: setting, Contender: who}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := report.Median(tc.in); got != tc.want {
			t.Errorf("Median(%v) = %v, want %v", tc.in, got, tc.want)
		}
	}
	if got := report.Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

// A machine that is slower in one round does not change a ratio.
func TestRatiosAreOfOneRound(t *testing.T) {
	var b report.Book
	x, y, z := report.Line{Contender: "x"}, report.Line{Contender: "y"}, report.Line{Contender: "z"}
	for _, slow := range []float64{1, 2, 8} {
		b.Add(x, "ns", 30*slow)
		b.Add(y, "ns", 20*slow)
	}
	b.Add(z, "ns", 1)
	if got := b.Ratio(x, y, "ns"); got != 1.5 {
		t.Errorf("Ratio = %v, want 1.5", got)
	}
	if got := b.Above(x, y, "ns"); got != 20 { // of 10, 20 and 80
		t.Errorf("Above = %v, want 20", got)
	}
	if got := b.Ratio(x, z, "ns"); !math.IsNaN(got) {
		t.Errorf("Ratio of 3 samples to 1 = %v, want NaN", got)
	}
}

func TestComparison(t *testing.T) {
	var b report.Book
	for i, who := range []string{"floor", "ours"} {
		for _, f := range []float64{90, 110, 100} {
			b.Add(line("1", who), "ns", f*float64(i+1))
		}
		b.Add(line("1", who), "allocs", float64(i))
	}
	got := report.Comparison{
		Title: "Hits", Note: "A note.", Workload: "A", Settings: []string{"1", "2"},
		Contenders: []string{"ours", "floor", "nobody"}, Reference: "floor", Unit: "ns", More: []string{"allocs"},
	}.Table(&b).Markdown()
	want := `### Hits

| contender | 1 ns | × floor | 2 ns | × floor | allocs |
| --- | --- | --- | --- | --- | --- |
| ours | 200 (180–220) | 2 | – | – | 1 |
| floor | 100 (90–110) | 1 | – | – | 0 |

A note.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestNumber(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.0012: "0.0012", 0.099: "0.1", 0.5: "0.5", 1.234: "1.23", 12.34: "12.3", 20: "20", 123.4: "123", 98765: "98765",
		math.Inf(1): "–",
	} {
		if got := report.Number(f); got != want {
			t.Errorf("Number(%v) = %q, want %q", f, got, want)
		}
	}
}

func TestGoalsShowWhatWasMissed(t *testing.T) {
	goals := []report.Goal{
		{What: "fast", Asked: "≤ 2", Reached: 1.5, Why: "it is not."},
		{What: "slow", Asked: "≤ 2", Reached: 2.5, Why: "it is long."},
		{What: "much", Asked: "≥ 2", Reached: 2.5},
		{What: "little", Asked: "≥ 2", Reached: 1},
		{What: "unknown", Asked: "≤ 2", Reached: math.NaN()},
	}
	var got []string
	table := report.Goals(goals)
	for _, r := range table.Rows {
		got = append(got, r[0]+" "+r[3])
	}
	want := []string{"fast yes", "slow **missed**", "much yes", "little **missed**", "unknown not measured"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	for _, asked := range []string{"quick", "~ 2", "≤ two"} {
		if _, met, err := (report.Goal{Asked: asked}).Limit(); met || err == nil {
			t.Errorf("%q is a limit, want an error", asked)
		}
	}
	if table.Note != "2 of 4 reached. Why not:\n\n- slow: it is long." {
		t.Errorf("note = %q", table.Note)
	}
}

func TestHeading(t *testing.T) {
	got := report.Heading(t.Context(), ", more", nil)
	for _, want := range []string{", more, Twofold ", "cores", "go1."} {
		if !strings.Contains(got, want) {
			t.Errorf("heading has no %q: %s", want, got)
		}
	}
}
