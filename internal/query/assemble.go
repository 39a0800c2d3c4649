package query

// assemble makes a query from its items. negated: a NOT excluded one of them.
func (s Schema) assemble(items []item, cut, negated bool) Query {
	q := Query{Cut: cut, schema: s}
	last := 0      // the kind of the last term
	joins := false // an OR follows it
	words := ""    // the words that operators after it are at an end of the query
	add := func(it item) bool {
		if q.terms() == MaxTerms {
			q.Cut = true
			return false
		}
		switch it.kind {
		case wanted:
			if joins && last == wanted {
				g := &q.Groups[len(q.Groups)-1]
				g.Any = append(g.Any, it.atom)
			} else {
				q.Groups = append(q.Groups, Group{Any: []Atom{it.atom}})
			}
		case excluded:
			q.Not = append(q.Not, it.atom)
		case narrows:
			q.Filters.add(it.filter)
		}
		last, joins, words = it.kind, false, ""
		return true
	}
	for _, it := range items {
		switch it.kind {
		case or, and, no:
			joins = joins || it.kind == or
			if words == "" {
				words = it.word
			}
			continue
		}
		if last == 0 && words != "" && words != operators["NOT"].word {
			add(item{kind: wanted, atom: Atom{Text: words}})
		}
		if !add(it) {
			break
		}
	}
	// An operator before a cut is not the last word of the query.
	if words != "" && !q.Cut {
		joins = false
		add(item{kind: wanted, atom: Atom{Text: words}})
	}
	if negated && len(q.Not) == 1 && !q.Not[0].Title && q.Empty() { // NOT gate
		q.Groups = []Group{{Any: []Atom{{Text: operators["NOT"].word}}}, {Any: []Atom{q.Not[0]}}}
		q.Not = nil
	}
	return q.settled()
}
