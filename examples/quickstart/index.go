package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache"
)

// Package is what the index knows of one package.
type Package struct {
	Path     string   `json:"path"`
	Name     string   `json:"name"`
	Synopsis string   `json:"synopsis"`
	Lines    int      `json:"lines"`
	Exported []string `json:"exported"`

	// Parse is the number of the load that it came from, by which a reader tells
	// a newer value from an older one.
	Parse int64 `json:"parse"`
}

// index loads packages by parsing them: real work, milliseconds each.
type index struct {
	src    string
	paths  []string // of all packages
	loads  atomic.Int64
	broken atomic.Bool
}

var errDisk = errors.New("the disk is on fire (not really)")

// load is the loader of every cache here: it parses one package directory.
func (x *index) load(_ context.Context, path string) (Package, error) {
	number := x.loads.Add(1)
	if x.broken.Load() {
		return Package{}, errDisk
	}
	dir := filepath.Join(x.src, filepath.FromSlash(path))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Package{}, fmt.Errorf("package %s: %w", path, cache.ErrNotFound)
	}
	if err != nil {
		return Package{}, err
	}
	p := Package{Path: path, Parse: number}
	for _, e := range entries {
		if isSource(e) {
			if err := p.parse(filepath.Join(dir, e.Name())); err != nil {
				return Package{}, err
			}
		}
	}
	if p.Name == "" {
		return Package{}, fmt.Errorf("no Go files in %s: %w", path, cache.ErrNotFound)
	}
	slices.Sort(p.Exported)
	p.Exported = slices.Compact(p.Exported)
	return p, nil
}

func isSource(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go")
}

// parse adds one file to the package.
func (p *Package) parse(file string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.Name = f.Name.Name
	p.Lines += files.Position(f.FileEnd).Line
	if p.Synopsis == "" && f.Doc != nil {
		p.Synopsis = new(doc.Package).Synopsis(f.Doc.Text())
	}
	for _, d := range f.Decls {
		for _, name := range declared(d) {
			if ast.IsExported(name) {
				p.Exported = append(p.Exported, name)
			}
		}
	}
	return nil
}

// declared returns the top-level names that a declaration brings.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
