// Package examples is the root of the example programs: one folder is one
// program, thin on top of the library, and runs with
//
//	go run ./examples/NAME
//
// from the root of the repository. The programs form a module of their own, so
// that what they need besides never reaches a user of the library.
package examples
