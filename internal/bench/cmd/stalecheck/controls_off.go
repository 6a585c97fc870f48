//go:build !twofold_controls

package main

// controls says that this build cannot switch off safeguards.
const controls = false
