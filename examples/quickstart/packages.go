package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// newIndex finds the packages of the Go installation at root.
func newIndex(root string) (*index, error) {
	if root == "" {
		return nil, errors.New("no Go installation found; name one")
	}
	// Debian's src is a link, which WalkDir would not follow.
	src, err := filepath.EvalSymlinks(filepath.Join(root, "src"))
	if err != nil {
		return nil, err
	}
	x := &index{src: src}
	if x.paths, err = packages(src); err != nil {
		return nil, err
	}
	if n := len(x.paths); n < 3 {
		return nil, fmt.Errorf("%d packages below %s, want three at least", n, src)
	}
	return x, nil
}

// packages lists the packages of the standard library.
func packages(src string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case e.IsDir() && (rel == "cmd" || rel == "vendor" || e.Name() == "testdata"):
			return fs.SkipDir
		case isSource(e) && rel != e.Name():
			paths = append(paths, rel[:strings.LastIndexByte(rel, '/')])
		}
		return nil
	})
	slices.Sort(paths)
	return slices.Compact(paths), err
}

// tree is the tag of everything below one directory of src.
func tree(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return "tree:" + top
}
