//go:build twofold_controls

package main

// controls says that this build can switch off safeguards.
const controls = true
