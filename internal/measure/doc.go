// Package measure counts what the caches of a process do, and reports it: counters by namespace and
// tenant, OpenTelemetry instruments that read them, and the spans of reads, loads and invalidations.
// It knows only numbers and names, not entries.
package measure
