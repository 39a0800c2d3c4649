package pages

// openBlock is a block that has begun, in the page and in what is written.
type openBlock struct {
	name string // in the page
	as   string // as it is written
	line int    // how many elements of a line were open where it began
}

// begin writes the start tag of a block, after the end tags that it makes unnecessary. So what is
// written is well nested, and never deeper than maxBlocks: the converter copies what it has once
// for each level.
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
		// A row is one line: what would be paragraphs in it are parted by a line's end each.
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

// inCell reports whether text would come directly into a cell of a table.
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

// ends reports whether a block that has no end tag ends where another begins, as in HTML.
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

// endOf takes the end tag of a block: it ends the innermost of that name, and all in it. It does
// not reach out of a table's cell; one of nothing is passed over.
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
