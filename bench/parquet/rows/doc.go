// Command rows prints the rows of a Parquet file as JSON lines, read with arrow-go: go run -tags
// arrow ./parquet/rows FILE, here in bench. The test of the manuals in internal/deploytest uses it.
package main
