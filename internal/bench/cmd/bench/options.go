package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/internal/bench/workload"
)

// options are the values of the command line.
type options struct {
	size      workload.Size
	samples   int
	workloads []workload.Workload

	out, raw string
}

func parse(args []string, log io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(log)
	suite := fs.String("suite", "all", "how much: all, quick (two minutes), or tiny (proves that it works)")
	only := fs.String("only", "", "these workloads, such as A,D; empty: all")
	fs.IntVar(&o.samples, "samples", 0, "of each contender; 0: 6, or fewer in the short suites")
	fs.StringVar(&o.out, "out", "", "write the results into this file; empty: standard output")
	fs.StringVar(&o.raw, "raw", "", "write all samples to this file, for benchstat; empty: nowhere")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", fs.Arg(0))
	}
	if o.samples < 0 || o.samples > 1000 {
		return nil, fmt.Errorf("%d samples: want 1 to 1000, or 0 for the suite's number", o.samples)
	}
	if err := o.choose(*suite); err != nil {
		return nil, err
	}
	var err error
	o.workloads, err = pick(*only)
	return o, err
}

// choose sets the options of a suite.
func (o *options) choose(suite string) error {
	samples := 1
	switch suite {
	case "all":
		o.size, samples = workload.Full, 6
	case "quick":
		o.size = workload.Quick
	case "tiny":
		o.size = workload.Tiny
	default:
		return fmt.Errorf("no suite %q: want all, quick or tiny", suite)
	}
	if o.samples == 0 {
		o.samples = samples
	}
	return nil
}

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
