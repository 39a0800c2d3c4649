// Package parquet reads the Parquet files of internal/export with another library than the one that
// writes them, arrow-go, in a test: go test -tags arrow ./parquet, here in bench. CI runs it. It is
// in this module, and has a build tag, because compiling arrow-go takes one and a half minutes of
// CPU time.
package parquet
