// Package examples is the root of the example programs. Each folder is one small program on
// top of the library. Run one from the root of the repository:
//
//	go run ./examples/NAME
//
// The programs are a separate module, so users of the library do not get their dependencies.
package examples
