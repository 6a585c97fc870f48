// Package examples is the root of the example programs. Each folder is one small program on
// top of the library. Run one from the root of the repository:
//
//	go run ./examples/NAME
//
// The programs form a module of their own, so that a user of the library never gets their
// dependencies.
package examples
