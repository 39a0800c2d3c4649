package crawl

// Rendering is whether the scripts of a page were run before it was stored, or should be.
type Rendering uint8

// The values are stored and sent, so they do not change.
const (
	// RenderingNone: the page is stored as its server sent it, and has text of its own.
	RenderingNone Rendering = iota
	// RenderingNeeded: the page is stored as its server sent it. It has scripts and almost no text
	// without them.
	RenderingNeeded
	// RenderingDone: what is stored is what the scripts made of the page.
	RenderingDone
	// RenderingFailed: the page is stored as its server sent it, because rendering it failed.
	RenderingFailed
)

// String returns the word that people and programs read: "", needed, done or failed.
func (r Rendering) String() string {
	switch r {
	case RenderingNeeded:
		return "needed"
	case RenderingDone:
		return "done"
	case RenderingFailed:
		return "failed"
	}
	return ""
}

// The values of Spec.Render, and of render in site rules.
const (
	RenderNever  = "never"  // also the empty string
	RenderAuto   = "auto"   // pages that have scripts and almost no text without them
	RenderAlways = "always" // all pages in HTML
)
