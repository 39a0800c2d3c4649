package command

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Checkout returns the directory of the checkout that contains this module.
func Checkout(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/curtsy/curtsy").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout (run this in bench/): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds commands of the checkout, or of modules that it uses, into dir.
func Build(ctx context.Context, dir string, packages ...string) error {
	root, err := Checkout(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", dir + "/"}, packages...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
