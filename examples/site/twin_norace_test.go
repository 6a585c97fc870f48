//go:build !race

package main

// raceEnabled means that code is several times as slow, and SQLite thirty times.
const raceEnabled = false
