package page

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/worker"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What a page gathers beside its body: its links, from the tables of the scanner to the messages in
// which they are published. An ordinary page has few, and needs no memory of the budget for them.
// Before a page gathers more, memory is reserved for the most that there can be, and after it was
// read, for what there is. When the links are published, the memory is returned.
const (
	// linkMemory is what a link takes beside its text: in the two tables of a scanner, which double
	// when they grow, and in the lists and maps of the scanner and the publisher.
	linkMemory = 280
	// textFactor is how often the text of the links is in memory outside of messages.
	textFactor = 3
	// messageMemory is what a message with links takes while it is sent: its buffer, which grew.
	messageMemory = 3 * publish.LinksMessage
	// mostGathered is for the most that a page can gather.
	mostGathered = htmlscan.MaxLinks*linkMemory + textFactor*htmlscan.MaxLinkText + messageMemory
)

// memoryOf returns how much memory links need until they are published.
func memoryOf(links []canon.URL) int64 {
	text := 0
	for _, l := range links {
		text += len(l)
	}
	return int64(len(links)*linkMemory + textFactor*text + min(textFactor*text, messageMemory))
}

// gathering is what a visit gathers from its pages, and the memory for it.
type gathering struct {
	buf     *Buffers
	session *wire.Session // nil: its pages were brought. Few visits are, and they reserve nothing
}

// scan reads the links and tags of a page, of which kept bytes are memory that was reserved with
// Gather. An error means that there is no memory for the links, because the visit has ended. The
// caller calls done when the links are published.
func (g gathering) scan(page htmlscan.Page, kept int) (htmlscan.Result, error) {
	if g.session == nil {
		return g.buf.scan(page), nil
	}
	var err error
	memory, asked := &g.session.Memory, kept > 0
	page.More = func() bool {
		asked = true
		err = memory.Gather(mostGathered)
		return err == nil
	}
	r := g.buf.scan(page)
	if asked && err == nil {
		memory.Gathered(int64(kept) + memoryOf(r.Links))
	}
	return r, err
}

// tags reads the tags of a page whose links are not wanted. The caller calls done.
func (g gathering) tags(page htmlscan.Page) htmlscan.Result {
	page.More = func() bool { return false }
	return g.buf.scan(page)
}

// done returns what was reserved, and the buffers that grew.
func (g gathering) done() {
	g.buf.trim()
	if g.session != nil {
		g.session.Memory.Gathered(0)
	}
}

// parties are those to whom a page belongs.
func (g gathering) parties(u *crawl.VisitURL) []fair.Party {
	if g.session == nil {
		return []fair.Party{fair.DomainOf(u.URL.Host())}
	}
	return g.session.Parties()
}

// htmlFactor is how often the HTML of a document is in memory: what was read, and what is sent.
const htmlFactor = 2

// mostOfDocument is for the most that is gathered from a document.
const mostOfDocument = htmlFactor*worker.MaxHTML + mostGathered

// document lets a child process read a document. A short document can have a long text, and
// many visits may wait until theirs is published. So memory is reserved for it. If there is none at
// the moment, the text is dropped, and the document is read again when there is: no document waits
// for a child while it has memory that others wait for, except for this reason.
func (g gathering) document(ctx context.Context, pool *worker.Pool, f document.File, parties []fair.Party) (document.Page, error) {
	for {
		read, err := pool.Read(ctx, f, parties)
		if err != nil || g.session == nil || len(read.HTML) <= wire.KeepBuffer || g.session.Memory.TryGather(mostOfDocument) {
			return read, err
		}
		read = document.Page{}
		if err := g.session.Memory.Gather(mostOfDocument); err != nil {
			return read, err
		}
	}
}
