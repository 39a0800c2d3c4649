//go:build arrow

// Command rows prints the rows of a Parquet file as JSON lines, read with arrow-go: go run -tags
// arrow ./parquet/rows FILE, here in bench. The test of the manuals in internal/deploytest uses it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/curtsy/curtsy/bench/parquet"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: rows FILE.parquet")
	}
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	rows, _, err := parquet.Read(ctx, b)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, row := range rows {
		if err := out.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
