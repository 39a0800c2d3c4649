// Package parquet reads the Parquet files of internal/export with another library than the one that
// writes them, arrow-go, in a test: go test -tags arrow ./parquet, here in bench. CI runs it. It is
// in this module, and behind a tag, because arrow-go takes a minute and a half of a processor to
// compile.
package parquet
