//go:build !twofold_controls

package main

// controls says that this build cannot do without a safeguard.
const controls = false
