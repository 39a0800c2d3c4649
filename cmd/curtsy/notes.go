package main

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/crawl"
)

// notes is what was reported about the state of a crawl, so that only changes are reported.
type notes struct {
	trouble, pages bool
	paused         int64
}

// print reports the changes about which a person can do something.
func (n *notes) print(p *progress, st crawl.Status) {
	// The text of a trouble changes with every free byte.
	if is := st.Trouble != ""; is != n.trouble {
		if n.trouble = is; is {
			p.warn("paused: %s", term.Clean(st.Trouble))
		} else {
			p.printLine("the crawl continues")
		}
	}
	if is := st.PagesTrouble != ""; is != n.pages {
		if n.pages = is; is {
			p.warn("not all pages are stored: %s", term.Clean(st.PagesTrouble))
		} else {
			p.printLine("pages are stored again")
		}
	}
	if st.PausedHosts != n.paused {
		if n.paused = st.PausedHosts; n.paused > 0 {
			p.printLine("%s; to continue one: curtsy host resume HOST", look.PausedText(st))
		} else {
			p.printLine("no host is paused any more")
		}
	}
}
