package document

import (
	"math"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/document/pdf"
)

// A line is a heading if its letters are larger than most letters of the text by this factor, and
// it is not longer than maxHeading.
const (
	headingSize = 1.2
	maxHeading  = 200
)

func readPDF(w *writer, f File) error {
	t, err := pdf.Read(f.Body, pdf.Limits{Pages: w.lim.Pages, Text: w.lim.HTML, Links: w.lim.Links, Until: w.lim.Until})
	if err != nil {
		return err
	}
	w.lang = t.Lang
	w.setTitle(t.Title)
	common, first := sizes(t.Paragraphs)
	titled := false
	for _, p := range t.Paragraphs {
		block := "p"
		if p.Size >= headingSize*common && utf8.RuneCountInString(p.Text) <= maxHeading {
			block = "h2"
			if !titled && p.Page == 1 && p.Size >= 0.99*first {
				block, titled = "h1", true
			}
		}
		w.begin(block)
		if err := w.say(p.Text); err != nil {
			return err
		}
	}
	w.end()
	for _, u := range t.Links {
		w.startLink(u)
		w.endLink()
	}
	w.cut = w.cut || t.Cut
	return nil
}

// sizes returns the size that most letters have, and the largest size on the first page.
func sizes(all []pdf.Paragraph) (common, first float64) {
	count := map[float64]int{}
	for _, p := range all {
		size := math.Round(p.Size*2) / 2
		count[size] += len(p.Text)
		if p.Page == 1 && len(p.Text) > 2 {
			first = max(first, p.Size)
		}
	}
	most := 0
	for size, n := range count {
		if n > most || n == most && size < common {
			common, most = size, n
		}
	}
	return common, first
}
