// Command pack compiles the page reader and packs it for package pagereader: go generate
// ./internal/mobile/pagereader. With -to DIR it writes somewhere else.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const source = "github.com/curtsy/curtsy/internal/mobile/pagereader/wasm"

func main() {
	to := flag.String("to", ".", "write to this `DIR`")
	flag.Parse()
	if err := run(*to); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(to string) error {
	raw := filepath.Join(to, "robot.wasm")
	defer os.Remove(raw) // what counts is packed
	// Nothing of the machine, of the checkout or of the environment may change the octets.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", raw, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWASM=", "GOFLAGS=", "GOEXPERIMENT=", "GODEBUG=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	module, err := os.ReadFile(raw)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(module); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "robot.wasm.gz"), b.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "go-version.txt"), []byte(runtime.Version()+"\n"), 0o644); err != nil {
		return err
	}
	fmt.Printf("%d octets, packed %d\n", len(module), b.Len())
	return nil
}
