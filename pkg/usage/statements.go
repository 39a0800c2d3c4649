package usage

import "net/http"

// maxStatements is how many statements one Set keeps, besides those that change what it says.
const maxStatements = 64

// maxKept is how many it keeps at most: each of the purposes changes twice at most, and a
// reservation stands in three places.
const maxKept = maxStatements + 2*2*int(purposes) + tdmLayers

// Statement is what stands in one place about the use of a page.
type Statement struct {
	Position
	Text        string // as written, 200 bytes of it at most
	Preferences Preferences
	// Inferred: not said, but concluded from what the site tells others (formats §8.21). It counts
	// when pages are handed on for training, and not when they are fetched.
	Inferred bool
}

// Statements are all that was found about the use of a page, in the order they were found: what
// goes with the page, so that whoever holds it can tell what it may be used for, and why. nil says
// nothing. They are not changed once made.
type Statements []Statement

// layer is where a reservation stands among those that replace one another (formats §8.16), or -1
// of other statements.
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

// Preferences returns what the statements together say (formats §8.4, §8.16), without what is
// inferred.
func (l Statements) Preferences() (p Preferences) {
	nearest := l.nearest()
	for i := range l {
		if s := &l[i]; !s.Inferred && (s.layer() < 0 || s.layer() == nearest) {
			p = p.Merge(s.Preferences)
		}
	}
	return p
}

// Concluded returns Preferences with what was inferred (formats §8.21): what counts when pages are
// handed on.
func (l Statements) Concluded() (p Preferences) {
	p = l.Preferences()
	for i := range l {
		if l[i].Inferred {
			p = p.Merge(l[i].Preferences)
		}
	}
	return p
}

// Sources returns what counts, purpose by purpose within each statement, reservations last.
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

// Renew returns what holds of a page that its server called unchanged (304), l being what was said
// when it was sent, and now what is said with the 304: robots.txt, files and licences as they are
// now; of the headers those it carries, the others as they were; the page's own markup as it was
// (formats §8.14). A header that it carries without saying anything is in now as a statement
// without preferences, as Carried makes them. tagged says that it carries robots tags: those of
// both names are replaced together (formats §4.2).
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

// lasts reports whether a statement stands after a 304 with what is said now.
func (s *Statement) lasts(now Statements, tagged bool) bool {
	kind, name := splitFrom(s.From)
	switch kind {
	case "meta", "script", "link", "robots": // the last: a tag of header or markup
		return true
	}
	switch {
	case kind != "header" || s.Inferred:
		return false // as it is now
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

// bounded keeps of very many statements the first, and those that change what they say.
func (l Statements) bounded() Statements {
	var s Set
	for i := range l {
		s.state(l[i])
	}
	return s.Statements()
}

// Carried returns a statement without preferences for each header about use that an answer
// carries, for Renew.
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

// splitFrom parts the name of a place into its kind and the rest.
func splitFrom(from string) (kind, name string) {
	for i := range len(from) {
		if from[i] == ' ' {
			return from[:i], from[i+1:]
		}
	}
	return from, ""
}
