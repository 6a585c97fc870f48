package measure

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracer makes the spans of one package. Make one with [NewTracer]. All methods
// may be called concurrently.
type Tracer struct {
	provider trace.TracerProvider // nil means the current global provider
	tracer   trace.Tracer
}

// NewTracer returns a tracer of a provider. A nil tp means the global provider.
func NewTracer(tp trace.TracerProvider, scope string) Tracer {
	if tp == nil {
		return Tracer{tracer: otel.Tracer(scope)}
	}
	return Tracer{provider: tp, tracer: tp.Tracer(scope)}
}

// idle are the types of tracer providers that do nothing: the initial one of package otel, and the
// no-op one.
var idle = func() []reflect.Type {
	types := []reflect.Type{reflect.TypeFor[noop.TracerProvider]()}
	first := reflect.TypeOf(otel.GetTracerProvider()) // unless an init function has set another
	if first.Kind() == reflect.Pointer && strings.HasSuffix(first.Elem().PkgPath(), "otel/internal/global") {
		types = append(types, first)
	}
	return types
}()

// On reports whether spans are recorded. An unrecorded span still costs four allocations.
func (t *Tracer) On() bool {
	tp := t.provider
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	return !slices.Contains(idle, reflect.TypeOf(tp))
}

// Start begins a span and returns the context inside it. If the tracer is not on, the span is the
// zero Span.
func (t *Tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, Span) {
	if !t.On() {
		return ctx, Span{}
	}
	//nolint:spancheck // Span.End ends it
	ctx, s := t.tracer.Start(ctx, name, opts...)
	return ctx, Span{s} //nolint:spancheck // see above
}

// Span is a span that may be absent: the zero Span does nothing.
type Span struct{ span trace.Span }

// End ends the span. If the operation failed, it marks the span with problem. Do not quote an error
// there: it may contain parts of a value.
func (s Span) End(failed bool, problem string) {
	if s.span == nil {
		return
	}
	if failed {
		s.span.SetStatus(codes.Error, problem)
	}
	s.span.End()
}
