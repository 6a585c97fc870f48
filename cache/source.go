package cache

// source_ says which tier gave a value, or that the loader did. Zero means that the call failed.
type source_ uint8

// The sources of a value.
const (
	local_ source_ = iota + 1
	remote_
	load_
)
