package documenttest

import (
	"bytes"
	"fmt"
	"strings"
)

// feedsAndData are feeds, JSON and CSV.
func feedsAndData() []Hostile {
	return []Hostile{
		{"feed: an item that does not end", rssType, func() []byte {
			return append([]byte("<rss><channel><title>Once there was a harbour</title><item><title>"), bytes.Repeat([]byte("x "), 10<<20)...)
		}, "*"},
		{"feed: no feed", rssType, func() []byte { return []byte("<html><body>no</body></html>") }, ""},
		{"json: a million lists in one another", jsonType, func() []byte { return bytes.Repeat([]byte("["), 1<<20) }, ""},
		{"json: a text of 30 MiB", jsonType, func() []byte {
			return fmt.Appendf(nil, `{"a":"Once there was a harbour %s"}`, strings.Repeat("y ", 14<<20))
		}, "Once there was"},
		{"csv: a line of ten million fields", csvType, func() []byte { return bytes.Repeat([]byte("a,"), 10<<20) }, "*"},
		{"csv: a quotation that does not end", csvType, func() []byte { return append([]byte("Once,\""), bytes.Repeat([]byte("x\n"), 4<<20)...) }, "*"},
	}
}
