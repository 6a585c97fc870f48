package main

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// linkOf returns the log that a layer of w follows instead of its own.
type linkOf[W any] func(w *W, layer string, own second) invalidate.Log

// through returns a log that passes its pages through do.
func through(l invalidate.Log, do func(p *invalidate.Page)) invalidate.Log {
	f := logtest.NewFaulty(l)
	f.Corrupt(func(p invalidate.Page) invalidate.Page {
		do(&p)
		return p
	})
	return f
}

// skips removes the keys and scopes from the records of layers.
func skips[W any](layers ...string) linkOf[W] {
	return func(_ *W, layer string, own second) invalidate.Log {
		if !slices.Contains(layers, layer) {
			return own
		}
		return through(own, func(p *invalidate.Page) {
			p.Scopes = slices.Clone(p.Scopes)
			for i := range p.Scopes {
				p.Scopes[i].Fences = nil
			}
		})
	}
}

// reversed makes the objects apply a record after the responses, which have applied it when
// first returns.
func reversed(layer string, own second, first func(context.Context) error) invalidate.Log {
	switch layer {
	case "objects":
		own.below = first
	case "responses":
		own.below = nil
	}
	return own
}
