package engine

// Source says which tier gave a value, or that the loader did. Zero means that the call failed.
type Source uint8

// The sources of a value.
const (
	Local Source = iota + 1
	Remote
	Load
)
