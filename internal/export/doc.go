// Package export writes the results of a crawl in formats that other programs read directly:
// Parquet with the column names of Common Crawl's index where they fit, CSV without formulas for
// spreadsheets, the bulk format of Elasticsearch and OpenSearch, and one file for each page.
//
// The rows are those of the indexers (crawl.PageRow, crawl.LinkRow) and of the catalogue
// (crawl.DatasetInfo). A running and a stopped crawl have the same rows, and so the same files.
// Every writer keeps a limited part of its output in memory, for any number of rows. A writer may
// be used by one goroutine.
package export
