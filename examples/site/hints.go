package main

import (
	"io"
	"text/template"
)

// hints are what the program prints when it is up.
type hints struct {
	URL, AdminKey string
	APIKey        string // of a new database
}

var hintText = template.Must(template.New("hints").Parse(`The site is at   {{.URL}}/
The admin key is {{.AdminKey}}
{{with .APIKey}}An API key is    {{.}}
{{end}}The cache is at  {{.URL}}/_cache (the password is the admin key)

A hit, a write, and the fresh page:
  curl -si {{.URL}}/ | grep -i -e ^cache-status -e '<h2'
  curl -H 'Authorization: Bearer {{.AdminKey}}' -d '{"slug": "hello", "title": "Hello", "summary": "A first post.", "body": "It *works*.", "lang": "en", "status": "published", "tags": ["go"]}' {{.URL}}/admin/api/posts
  curl -si {{.URL}}/ | grep -i -e ^cache-status -e '<h2'

Ctrl+C ends it.
`))

func (h hints) print(out io.Writer) error { return hintText.Execute(out, h) }
