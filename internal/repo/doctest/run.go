package doctest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Run compiles the blocks and runs them in one test binary. It returns the output of the go command
// or of the test binary. Root is the repository, dir is for temporary files, and kit is the text of
// a file that is added to each package. Env is added to the environment.
func Run(ctx context.Context, dir, root, kit string, blocks []Block, env ...string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	s, err := newSource(root, kit, blocks)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range s.files {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, path)] = file
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "snippets.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-overlay", file, "./"+folder)
	build.Dir = root
	build.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	if out, err := build.CombinedOutput(); err != nil {
		return string(out), fmt.Errorf("doctest: the snippets do not compile: %w", err)
	}
	test := exec.CommandContext(ctx, binary)
	test.Dir = dir
	test.Env = append(os.Environ(), env...)
	out, err := test.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("doctest: a snippet fails: %w", err)
	}
	return string(out), err
}
