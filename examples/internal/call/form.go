package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// FormError means that a text is not the JSON value that was wanted. It quotes no value.
type FormError struct {
	Field string // its path, such as items.url. Empty means the whole text
	Text  string // what is wrong, and what is wanted
}

// Error returns "FIELD: TEXT".
func (e *FormError) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}

// Strict reads one JSON value without unknown fields into v, a pointer. Its error is a [*FormError],
// or one of r.
func Strict(r io.Reader, v any) error {
	var text bytes.Buffer
	d := json.NewDecoder(io.TeeReader(r, &text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return &FormError{Text: "continues after its JSON value"}
	}
	return formError(err, text.Bytes(), v)
}

func formError(err error, text []byte, v any) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &FormError{Text: "not JSON" + line(text, e.Offset-1) + ": " + e.Error()} // the wrong byte has been read
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // drop the digits that follow "number"
		return &FormError{path(e.Field), fmt.Sprintf("a JSON %s%s, want %s", kind, line(text, e.Offset), form(e.Type))}
	}
	says := err.Error()
	_, late := errors.AsType[*time.ParseError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FormError{Text: "ends within its JSON value"}
	case errors.Is(err, io.EOF):
		return &FormError{Text: "empty, want " + form(reflect.TypeOf(v).Elem())}
	case strings.HasPrefix(says, "json: unknown field "):
		return &FormError{Text: strings.TrimPrefix(says, "json: ")}
	case late || strings.HasPrefix(says, "Time."): // package time does not know the field
		return &FormError{wrong(text, v), "want a time as in RFC 3339, such as 2026-02-25T08:00:00Z"}
	}
	return err
}

// path returns the path of a field without the embedded Go structs, which JSON does not have.
func path(field string) string {
	parts := strings.Split(field, ".")
	last := parts[len(parts)-1]
	parts = slices.DeleteFunc(parts[:len(parts)-1], func(s string) bool { return s != "" && unicode.IsUpper(rune(s[0])) })
	return strings.Join(append(parts, last), ".")
}

// form says what JSON a Go type needs.
func form(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return t.Kind().String()
	}
}

// line says in which line an offset is, if the text has several.
func line(text []byte, offset int64) string {
	if !bytes.Contains(bytes.TrimSpace(text), []byte("\n")) {
		return ""
	}
	return fmt.Sprintf(" in line %d", 1+bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n")))
}

// wrong returns the first field of an object that v cannot hold.
func wrong(text []byte, v any) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // another value has no fields
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil && json.Unmarshal(alone, reflect.New(reflect.TypeOf(v).Elem()).Interface()) != nil {
			return name
		}
	}
	return ""
}
