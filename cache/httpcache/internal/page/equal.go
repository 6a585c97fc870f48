package page

import (
	"bytes"
	"slices"
)

// Equal compares a page with another rendering of it, without what differs in each rendering.
func (p *Page) Equal(b *Page, ignored []string) bool {
	if p == nil || b == nil {
		return p == b
	}
	return p.Status == b.Status && bytes.Equal(p.Body, b.Body) &&
		slices.EqualFunc(p.audited(ignored), b.audited(ignored), func(f, g Field) bool {
			return f.Name == g.Name && slices.Equal(f.Values, g.Values)
		})
}

// audited returns the headers of a page that an audit compares.
func (p *Page) audited(ignored []string) []Field {
	return slices.DeleteFunc(slices.Clone(p.Header), func(f Field) bool {
		return f.Name == "Date" || f.Name == "Age" || slices.Contains(ignored, f.Name)
	})
}
