//go:build twofold_controls

package main

// controls says that this build can do without a safeguard.
const controls = true
