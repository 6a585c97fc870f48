package resident

// SetTags adds to an entry's tags its own, the call's and the recorded ones. With the recorded
// tags it takes the age of the oldest part.
func (j *Job) SetTags(it *Entry, own []string, f *Facts) {
	tenant := j.View.Space.Tenant
	if n := len(own) + len(j.Opts.Tags) + len(f.Tags); n > 0 {
		it.Writable().Grow(n)
	}
	for _, names := range [][]string{own, j.Opts.Tags} {
		for _, n := range names {
			f.BadTag = !j.Core.Fills.Tag(&it.Writable().TagSet, tenant, n) || f.BadTag
		}
	}
	for i, hash := range f.Tags {
		it.Writable().Add(hash, f.TextOf(i))
	}
	if len(f.Keys) > 0 {
		it.Writable().Join(&f.Deps)
	}
	if older := it.LoadedAt - f.ConfirmedAt; older > 0 {
		it.Writable().PartsOlder = older
	}
}
