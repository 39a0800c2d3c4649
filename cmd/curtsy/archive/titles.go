package archive

import (
	"io"
	"strings"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/warc"
)

// titleWithin is how many bytes of a page are read for its title, compressed and decompressed.
const titleWithin = 256 << 10

// titles finds what archived pages are called.
type titles struct{ x pagetext.Extractor }

// of is the title of the page in a response. It is "" if the page has no title
// near its beginning.
func (t *titles) of(answer *warc.Record) string {
	block, err := io.ReadAll(io.LimitReader(answer, titleWithin))
	if err != nil {
		return ""
	}
	if answer.Type() == warc.Resource {
		media := answer.Get("Content-Type")
		kind, _, _ := strings.Cut(media, ";")
		title, _ := t.x.Title(strings.ToLower(strings.TrimSpace(kind)), html.PageCharset(block, media), block)
		return title
	}
	m, ok := warc.Split(block)
	if !ok {
		return ""
	}
	packed, _, _ := m.Payload() // it may be the beginning of it only
	r, done, err := wire.Decoder(strings.NewReader(string(packed)), m.Get("Content-Encoding"))
	if err != nil {
		return ""
	}
	defer done()
	body, _ := io.ReadAll(io.LimitReader(r, titleWithin)) // an error may come behind the title
	title, _ := t.x.Title(m.MediaType(), html.PageCharset(body, m.Get("Content-Type")), body)
	return title
}
