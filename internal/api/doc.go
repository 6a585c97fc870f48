// Package api holds the public names of the library, a text file for each package, and
// the tests that keep the files, the doc comments and the examples complete. A change of
// a public name shows in the diff of these files. The package has no code of its own.
package api
