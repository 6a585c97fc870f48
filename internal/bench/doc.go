// Package bench has Go benchmarks of the library and other caches, for a quick look and for
// profiles. The published results come from cmd/bench, which samples all contenders in turn. The
// package is in a separate module, so no peer is a dependency of the library.
package bench
