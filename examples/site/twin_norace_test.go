//go:build !race

package main

// raceEnabled says that everything takes several times as long, and SQLite thirty.
const raceEnabled = false
