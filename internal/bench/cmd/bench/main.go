// Bench measures Twofold and other caches, and writes the results as Markdown.
//
//	bench                                  everything, as tables on the standard output
//	bench -suite quick                     the same with less work, within two minutes
//	bench -only A,D -samples 10            two workloads
//	bench -out RESULTS.md
//
// It starts redis-server from the PATH, and itself once more for each process of the stampede.
// Contenders are sampled in turn. Ratios compare contenders of the same run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/bench/workload"
)

func main() {
	setup.Main("bench", workload.WorkerEnv, workload.Worker, func(ctx context.Context) error {
		return run(ctx, os.Args[1:], os.Stderr)
	})
}

func run(ctx context.Context, args []string, log io.Writer) error {
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	e, err := workload.Open(ctx, o.size, o.samples, log)
	if err != nil {
		return err
	}
	defer e.Close()
	head := heading(ctx, o) // before the run: the sources may change meanwhile
	for _, w := range o.workloads {
		if err := w.Do(e); err != nil {
			return err
		}
	}
	return setup.Deliver(o.out, head+body(e, o.workloads))
}

// heading returns what was measured, where and how.
func heading(ctx context.Context, o *options) string {
	var b strings.Builder
	b.WriteString("# Speed\n\n")
	b.WriteString(report.Heading(ctx, "", modules))
	fmt.Fprintf(&b, "\nMedians of %d samples with their range; the contenders took turns. "+
		"Trust the ratios, not the times: the times depend on this machine. Each ratio is taken within one run, and in the first table within one round of it.\n", o.samples)
	if o.size != workload.Full {
		b.WriteString("\n**A short run: it shows that everything works, with rough figures.**\n")
	}
	for _, left := range peers.LeftOut() {
		fmt.Fprintf(&b, "\nLeft out: %s (%s).", left[0], left[1])
	}
	return b.String() + "\n"
}

// modules are the modules whose versions are reported.
var modules = []string{
	"github.com/VictoriaMetrics/fastcache", "github.com/Yiling-J/theine-go", "github.com/allegro/bigcache/v3",
	"github.com/coocood/freecache", "github.com/dgraph-io/ristretto/v2", "github.com/go-redis/cache/v9",
	"github.com/gregjones/httpcache", "github.com/hashicorp/golang-lru/v2", "github.com/klauspost/compress", "github.com/maypok86/otter/v2", "github.com/redis/go-redis/v9",
	"github.com/redis/rueidis", "github.com/viccon/sturdyc",
}

// body returns the tables, with the goals first.
func body(e *workload.Env, all []workload.Workload) string {
	var b strings.Builder
	goals := e.Goals()
	if len(all) < len(workload.All()) { // then the other goals are left out
		goals = slices.DeleteFunc(goals, func(g report.Goal) bool { return math.IsNaN(g.Reached) })
	}
	b.WriteString("\n## Asked and reached\n\n" + report.Goals(goals).Markdown())
	for _, w := range all {
		b.WriteString("\n## " + w.ID + ": " + w.Title + "\n")
		for _, t := range w.Tables(e) {
			b.WriteString("\n" + t.Markdown())
		}
	}
	return b.String()
}

// options are the values of the command line.
type options struct {
	size      workload.Size
	samples   int
	workloads []workload.Workload
	out       string
}

func parse(args []string, log io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(log)
	suite := fs.String("suite", "all", "how much: all, quick (two minutes), or tiny (proves that it works)")
	only := fs.String("only", "", "these workloads, such as A,D; empty: all")
	fs.IntVar(&o.samples, "samples", 0, "of each contender; 0: 6, or fewer in the short suites")
	fs.StringVar(&o.out, "out", "", "write the results into this file; empty: standard output")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", fs.Arg(0))
	}
	if o.samples < 0 || o.samples > 1000 {
		return nil, fmt.Errorf("%d samples: want 1 to 1000, or 0 for the suite's number", o.samples)
	}
	size, ok := sizes[*suite]
	if !ok {
		return nil, fmt.Errorf("no suite %q: want all, quick or tiny", *suite)
	}
	o.size = size
	if o.samples == 0 {
		o.samples = map[workload.Size]int{workload.Full: 6, workload.Quick: 1, workload.Tiny: 1}[size]
	}
	var err error
	o.workloads, err = pick(*only)
	return o, err
}

// sizes are the suites.
var sizes = map[string]workload.Size{"all": workload.Full, "quick": workload.Quick, "tiny": workload.Tiny}

// pick returns the workloads for a list of their letters.
func pick(only string) ([]workload.Workload, error) {
	all := workload.All()
	if only == "" {
		return all, nil
	}
	var out []workload.Workload
	for id := range strings.SplitSeq(strings.ToUpper(only), ",") {
		i := slices.IndexFunc(all, func(w workload.Workload) bool { return w.ID == strings.TrimSpace(id) })
		if i < 0 {
			return nil, fmt.Errorf("no workload %q", id)
		}
		out = append(out, all[i])
	}
	return out, nil
}
