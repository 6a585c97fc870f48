package cache

import "time"

func (f *Fill) SetStaleIfError(d time.Duration) {}
func (f *Fill) SetKeep(d time.Duration)         {}
func (f *Fill) KeepDependencies()               {}
