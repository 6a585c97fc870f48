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
{{end}}
Try
  curl {{.URL}}/rss.xml
{{with .APIKey}}  curl -H 'X-API-Key: {{.}}' '{{$.URL}}/api/v1/posts?tag=caching'
{{end}}  curl -H 'Authorization: Bearer {{.AdminKey}}' -d '{"slug": "hello", "title": "Hello", "summary": "A first post.", "body": "It *works*.", "lang": "en", "status": "published", "tags": ["go"]}' {{.URL}}/admin/api/posts

Ctrl+C ends it.
`))

func (h hints) print(out io.Writer) error { return hintText.Execute(out, h) }
