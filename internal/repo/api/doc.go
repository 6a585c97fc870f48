// Package api holds the public names of the library, in one text file per package. Its tests keep
// the files, the doc comments and the examples complete. A change of a public name shows in the
// diff of these files. The package itself has no code.
package api
