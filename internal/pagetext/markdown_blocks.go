package pagetext

// openBlock is a block that has begun.
type openBlock struct {
	name string // its element in the page
	as   string // its element in the rewritten page
	line int    // how many inline elements were open where it began
}

// begin writes the start tag of a block, after the end tags that HTML implies before it. The
// rewritten page is therefore nested correctly, and never deeper than maxBlocks. This matters
// because the converter copies its text once for each level.
func (r *rewriter) begin(name, as string, attrs ...string) {
	for n := len(r.blocks); n > 0 && ends(r.blocks[n-1].name, name); n-- {
		r.endBlock()
	}
	if len(r.blocks) == maxBlocks {
		r.deeper++
		r.out = append(r.out, ' ')
		return
	}
	if (as == "p" || as == "div") && r.inCell() {
		// A row of a table is one line, so a line break separates paragraphs in a cell.
		r.closeLine(0)
		r.gap = r.gap || !r.begins
		r.blocks = append(r.blocks, openBlock{name, "", len(r.line)})
		return
	}
	r.block(as, attrs...)
	r.gap = false
	r.blocks = append(r.blocks, openBlock{name, as, len(r.line)})
	switch as {
	case "table":
		r.tables++
	case "pre":
		r.pre++
	}
}

// inCell reports whether the next text would be directly in a cell of a table.
func (r *rewriter) inCell() bool {
	for i := len(r.blocks) - 1; i >= 0; i-- {
		switch r.blocks[i].as {
		case "":
		case "td", "th":
			return true
		default:
			return false
		}
	}
	return false
}

// ends reports whether an open block without an end tag ends where another begins, as in HTML.
func ends(open, next string) bool {
	switch open {
	case "p":
		return true
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return isHeading(next)
	case "li":
		return next == "li"
	case "dt", "dd":
		return next == "dt" || next == "dd"
	case "td", "th", "caption":
		return ofTable(next)
	case "tr":
		return next == "tr" || next == "thead" || next == "tbody" || next == "tfoot"
	case "thead", "tbody", "tfoot":
		return next == "thead" || next == "tbody" || next == "tfoot"
	}
	return false
}

func isHeading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && '1' <= name[1] && name[1] <= '6'
}

// ofTable reports whether an element is a part of a table.
func ofTable(name string) bool {
	switch name {
	case "td", "th", "tr", "thead", "tbody", "tfoot", "caption":
		return true
	}
	return false
}

// endOf reads the end tag of a block. It ends the innermost block with that name and everything in
// it, but nothing outside the current cell of a table. An end tag without a block is ignored.
func (r *rewriter) endOf(name string) {
	if r.deeper > 0 {
		r.deeper--
		r.out = append(r.out, ' ')
		return
	}
	for i := len(r.blocks) - 1; i >= 0; i-- {
		open := r.blocks[i].name
		if open == name || isHeading(open) && isHeading(name) {
			for len(r.blocks) > i {
				r.endBlock()
			}
			return
		}
		if (open == "td" || open == "th") && name != "table" && !ofTable(name) {
			return
		}
	}
}

// endBlock writes the end tag of the innermost block.
func (r *rewriter) endBlock() {
	r.closeLine(0)
	n := len(r.blocks) - 1
	b := r.blocks[n]
	r.blocks, r.line = r.blocks[:n], r.line[:min(len(r.line), b.line)]
	switch b.as {
	case "":
		r.gap = r.gap || !r.begins
		return
	case "table":
		r.tables--
	case "pre":
		r.pre--
	}
	r.begins, r.gap = true, false
	r.tags++
	r.out = append(append(append(r.out, "</"...), b.as...), '>')
}
