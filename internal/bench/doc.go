// Package bench holds Go benchmarks of the library beside other caches, for a
// quick look and for profiles. What is published is measured by cmd/bench,
// which samples all contenders in turn. It is a module of its own, so that none
// of the peers is a dependency of the library.
package bench
