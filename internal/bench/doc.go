// Package bench measures tier/local beside other in-process caches. It is a
// module of its own, so that none of them is a dependency of the library.
package bench
