// Command release proves that the modules are ready to be tagged. It packs each one as a
// module proxy serves it, and builds a program outside the workspace that imports every
// public package. A module that needs its replace directives, or another version than its
// go.mod names, fails here. `make release-check` runs it.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const root = "github.com/twofold-go/twofold"

// published are the directories of the modules that users import.
var published = []string{".", "invalidate/sqllog/sqlpgx"}

func main() {
	if err := check(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) (err error) {
	version, err := namedVersion()
	if err != nil {
		return err
	}
	tracked, err := output(ctx, ".", nil, "git", "ls-files")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var imports []string
	for _, module := range published {
		if err := pack(filepath.Join(dir, "proxy"), module, version, strings.Fields(tracked)); err != nil {
			return fmt.Errorf("packing %s: %w", importPath(module), err)
		}
		packages, err := output(ctx, module, []string{"GOWORK=off"}, "go", "list", "./...")
		if err != nil {
			return err
		}
		for p := range strings.FieldsSeq(packages) {
			if !strings.Contains(p, "/internal") {
				imports = append(imports, p)
			}
		}
	}
	if err := consume(ctx, dir, version, imports); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "a program outside the workspace imports all %d packages of %d modules at %s\n", len(imports), len(published), version)
	return nil
}

// namedVersion returns the version of the root module that the other modules require. All
// are tagged together, so all name the same.
func namedVersion() (string, error) {
	names := regexp.MustCompile(`(?m)^\t?(?:require )?` + root + `(?:/\S+)? (v\S+)$`)
	version := ""
	for _, module := range published[1:] {
		mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
		if err != nil {
			return "", err
		}
		for _, m := range names.FindAllStringSubmatch(string(mod), -1) {
			if version != "" && m[1] != version {
				return "", fmt.Errorf("%s/go.mod requires %s, another module %s: name one version", module, m[1], version)
			}
			version = m[1]
		}
	}
	if version == "" || strings.HasPrefix(version, "v0.0.0-0") {
		return "", fmt.Errorf("the modules require %s %q: name the version that is to be tagged", root, version)
	}
	return version, nil
}

func importPath(module string) string { return path.Join(root, module) }

// pack writes a module's files into the directory of a proxy. The modules inside it are
// left out.
func pack(proxy, module, version string, tracked []string) error {
	to := filepath.Join(proxy, filepath.FromSlash(importPath(module)), "@v")
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	for file, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": []byte(info), version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(to, file), content, 0o600); err != nil {
			return err
		}
	}
	var all bytes.Buffer
	z := zip.NewWriter(&all)
	for _, file := range tracked {
		if owner(file, tracked) != module {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		w, err := z.Create(importPath(module) + "@" + version + "/" + strings.TrimPrefix(file, module+"/"))
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, version+".zip"), all.Bytes(), 0o600)
}

// owner returns the directory of the module that a file is in.
func owner(file string, tracked []string) string {
	of := "."
	for _, other := range tracked {
		dir := path.Dir(other)
		if path.Base(other) == "go.mod" && len(dir) > len(of) && strings.HasPrefix(file, dir+"/") {
			of = dir
		}
	}
	return of
}

// consume builds a program that imports the packages, by the proxy in dir and its own module cache.
// All other modules come from this machine's module cache, or from where that gets them.
func consume(ctx context.Context, dir, version string, imports []string) error {
	at := filepath.Join(dir, "consumer")
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	var mod strings.Builder
	mod.WriteString("module example.com/consumer\n\ngo 1.26.0\n")
	for _, module := range published {
		fmt.Fprintf(&mod, "\nrequire %s %s\n", importPath(module), version)
	}
	program := "package main\n\nimport (\n\t_ \"" + strings.Join(imports, "\"\n\t_ \"") + "\"\n)\n\nfunc main() {}\n"
	for file, content := range map[string]string{"go.mod": mod.String(), "main.go": program} {
		if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o600); err != nil {
			return err
		}
	}
	settings, err := output(ctx, ".", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	cache, proxies, _ := strings.Cut(strings.TrimSpace(settings), "\n")
	env := []string{
		"GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB=" + root, "GONOPROXY=none", "GOMODCACHE=" + filepath.Join(dir, "modules"),
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(cache, "cache", "download") + "," + proxies,
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", filepath.Join(dir, "program"), "."}} {
		if _, err := output(ctx, at, env, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s in %s: %w\n%s", name, strings.Join(args, " "), dir, err, said.String())
	}
	return string(out), nil
}
