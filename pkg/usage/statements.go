package usage

import "net/http"

// maxStatements is how many statements one Set stores, in addition to those that change the result.
const maxStatements = 64

// maxKept is the largest number of stored statements: each purpose changes twice at most, and a
// reservation is in three layers.
const maxKept = maxStatements + 2*2*int(purposes) + tdmLayers

// Statement is a statement in one place about the use of a page.
type Statement struct {
	Position
	Text        string // as written, at most 200 bytes
	Preferences Preferences
	// Inferred: concluded from the site's rules for others (formats §8.21). It counts when pages
	// are exported for training, and not when they are fetched.
	Inferred bool
}

// Statements are all statements about the use of a page, in the order in which they were found.
// They are stored with the page, so that its allowed uses and the reasons are known. nil has no
// effect. They do not change after they were made.
type Statements []Statement

// layer is the layer of a reservation (formats §8.16), or -1 for other statements.
func (s *Statement) layer() int {
	switch s.From {
	case fromTDMFile:
		return tdmFile
	case fromTDMHeader:
		return tdmHeader
	case fromTDMMeta:
		return tdmMeta
	}
	return -1
}

// nearest is the layer of the reservation that counts, or -1 without any.
func (l Statements) nearest() int {
	n := -1
	for i := range l {
		n = max(n, l[i].layer())
	}
	return n
}

// Preferences returns the result of the statements (formats §8.4, §8.16), without inferred ones.
func (l Statements) Preferences() (p Preferences) {
	nearest := l.nearest()
	for i := range l {
		if s := &l[i]; !s.Inferred && (s.layer() < 0 || s.layer() == nearest) {
			p = p.Merge(s.Preferences)
		}
	}
	return p
}

// Concluded returns Preferences together with inferred ones (formats §8.21), which count when pages
// are exported.
func (l Statements) Concluded() (p Preferences) {
	p = l.Preferences()
	for i := range l {
		if l[i].Inferred {
			p = p.Merge(l[i].Preferences)
		}
	}
	return p
}

// Sources returns the statements that count, purpose by purpose within each statement, reservations
// last.
func (l Statements) Sources() (all []Source) {
	nearest := l.nearest()
	add := func(s *Statement) {
		for purpose, v := range s.Preferences {
			if v != Unknown {
				all = append(all, Source{Purpose(purpose), v, s.Position, s.Text, s.Inferred})
			}
		}
	}
	for i := range l {
		if l[i].layer() < 0 {
			add(&l[i])
		}
	}
	for i := range l {
		if nearest >= 0 && l[i].layer() == nearest {
			add(&l[i])
		}
	}
	return all
}

// Renew returns the statements about a page that its server reported as unchanged (304). l are the
// earlier statements, and now are those at the time of the 304: robots.txt, files and licences are
// those of now; of the headers, those in the 304 are new and the others stay; the page's own markup
// stays (formats §8.14). A header in the 304 without a statement is in now as a statement without
// preferences, as Carried makes them. tagged means that the 304 has robots tags: those of both
// names are replaced together (formats §4.2).
func (l Statements) Renew(now Statements, tagged bool) (out Statements) {
	for _, s := range l {
		if s.lasts(now, tagged) {
			out = append(out, s)
		}
	}
	for _, s := range now {
		if s.Preferences != (Preferences{}) {
			out = append(out, s)
		}
	}
	if len(out) > maxKept {
		return out.bounded()
	}
	return out
}

// lasts reports whether a statement still counts after a 304 with the statements now.
func (s *Statement) lasts(now Statements, tagged bool) bool {
	kind, name := splitFrom(s.From)
	switch kind {
	case "meta", "script", "link", "robots": // the last: a tag in header or markup
		return true
	}
	switch {
	case kind != "header" || s.Inferred:
		return false // replaced by now
	case name == "X-Robots-Tag" || name == "Robots-Tag":
		return !tagged
	}
	for i := range now {
		if now[i].From == s.From {
			return false
		}
	}
	return true
}

// bounded keeps the first statements, and those that change the result.
func (l Statements) bounded() Statements {
	var s Set
	for i := range l {
		s.state(l[i])
	}
	return s.Statements()
}

// Carried returns, for Renew, a statement without preferences for each header about use in an
// answer.
func Carried(h http.Header) (l Statements) {
	for _, c := range [...]struct{ name, from string }{
		{hContentUsage, fromContentUsage}, {hContentSignal, fromContentSignal}, {hReservation, fromTDMHeader},
	} {
		if len(h[c.name]) > 0 {
			l = append(l, Statement{Position: Position{c.from, 1}})
		}
	}
	return l
}

// splitFrom splits the name of a source into its kind and the rest.
func splitFrom(from string) (kind, name string) {
	for i := range len(from) {
		if from[i] == ' ' {
			return from[:i], from[i+1:]
		}
	}
	return from, ""
}
