package content

import (
	"fmt"
	"time"
)

// Filter says which public posts a list is of. All of it that is set must match.
type Filter struct {
	Lang  Lang
	Tag   string // slug; empty: any
	Month Month  // zero: any
}

// Window is a part of a list: the Number-th page, from 1, of Size posts each.
type Window struct {
	Number, Size int
}

// List is a window of a list and the length of the whole, newest posts first. A
// window past the end has no posts and the right Total.
type List struct {
	Posts []Summary `json:"posts"`
	Total int       `json:"total"`
}

// TagCount is a tag that public posts of a language have, and how many have it.
type TagCount struct {
	Tag
	Posts int `json:"posts"`
}

// MonthCount is a month in which public posts of a language appeared, and how many.
type MonthCount struct {
	Month Month `json:"month"`
	Posts int   `json:"posts"`
}

// SitemapEntry is something the sitemap names.
type SitemapEntry struct {
	Path      string
	UpdatedAt time.Time
}

// Month is a calendar month in UTC. It is written as 2006-01.
type Month struct {
	Year  int
	Month time.Month
}

// MonthOf returns the month of t; the zero Month if t is zero.
func MonthOf(t time.Time) Month {
	if t.IsZero() {
		return Month{}
	}
	t = t.UTC()
	return Month{t.Year(), t.Month()}
}

// ParseMonth reads what String writes.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil || t.Year() == 0 {
		return Month{}, fmt.Errorf("%q is not a month such as 2006-01", s)
	}
	return MonthOf(t), nil
}

// IsZero reports whether m is no month.
func (m Month) IsZero() bool { return m == Month{} }

// Bounds returns the first instant of m and the first after it.
func (m Month) Bounds() (from, to time.Time) {
	from = time.Date(m.Year, m.Month, 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0)
}

// String returns m as 2006-01, and "" for the zero Month.
func (m Month) String() string {
	if m.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d", m.Year, int(m.Month))
}

// MarshalText is String.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (m *Month) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*m = Month{}
		return nil
	}
	*m, err = ParseMonth(string(text))
	return err
}
