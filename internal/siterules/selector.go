package siterules

import (
	"strings"

	"github.com/andybalholm/cascadia"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// selector is a compiled CSS selector. Package cascadia compares single elements. Combinators are
// ours: with cascadia, "a b c d" takes time that grows with a power of the depth of a page, and
// here each element is compared with each part once.
type selector struct {
	text  string
	parts []part
	weigh bool // a part looks at all that is below an element
}

// part is what stands between the combinators of a selector.
type part struct {
	sel   cascadia.Sel
	after byte // the combinator before it: ' ', '>', '+', '~'; 0 for the first part
	last  bool // an element that matches it is found
	// how often comparing it passes the siblings, and all that is below an element
	siblings, below int
}

// selectorText compiles a selector that is not from a file.
func (r *reader) selectorText(text string) *selector { return r.selector(text, &yaml.Node{}, "css") }

// selector compiles a CSS selector. It returns nil after a mistake.
func (r *reader) selector(text string, n *yaml.Node, what string) *selector {
	works := "use for example div.content > h1"
	s := &selector{text: text}
	if strings.Contains(text, "::") {
		r.Within(n, strings.Index(text, "::"), "%s %q: pseudo-elements such as %s are no part of a page; for the value of an attribute add attr: NAME", what, text, pseudo(text))
		return nil
	}
	for _, c := range compounds(text) {
		if c.text == "" {
			r.Within(n, c.at, "%s %q: a name, a class or the like is missing here; %s", what, text, works)
			return nil
		}
		sel, err := cascadia.Parse(c.text)
		if err != nil {
			r.Within(n, c.at, "%s %q is not a CSS selector: %s in %q; %s", what, text, selectorError(err), c.text, works)
			return nil
		}
		if why := refused(c.text); why != "" {
			r.Within(n, c.at, "%s %q: %s", what, text, why)
			return nil
		}
		p := part{sel: sel, after: c.after, last: c.last}
		lower := strings.ToLower(c.text)
		for _, name := range []string{":nth-", ":first-", ":last-", ":only-", ":haschild(", ":empty"} {
			p.siblings += strings.Count(lower, name)
		}
		for _, name := range []string{":has(", ":contains(", ":containsown(", ":matches(", ":matchesown("} {
			p.below += strings.Count(lower, name)
		}
		s.weigh = s.weigh || p.below > 0
		s.parts = append(s.parts, p)
	}
	if len(s.parts) > maxParts {
		r.At(n, "%s has %d parts; at most %d are allowed", what, len(s.parts), maxParts)
		return nil
	}
	return s
}

func pseudo(text string) string {
	_, after, _ := strings.Cut(text, "::")
	name, _, _ := strings.Cut(after, "(")
	name, _, _ = strings.Cut(name, " ")
	return "::" + name
}

// selectorError is the error of a selector without the words of a programmer.
func selectorError(err error) string {
	why := err.Error()
	if strings.HasPrefix(why, "parsing ") {
		return "something is left over"
	}
	why = strings.ReplaceAll(why, "EOF", "end")
	return strings.ReplaceAll(why, "pseudoclass or pseudoelement", "pseudo-class")
}

// refused says why a part of a selector is not supported.
func refused(text string) string {
	depth, quote := 0, byte(0)
	inner := false // in :has(), where another :has() would take quadratic time
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '\\':
			i++
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				inner = false
			}
		case c == ':':
			rest := strings.ToLower(text[i:])
			for _, name := range []string{":has(", ":contains(", ":containsown(", ":matches(", ":matchesown("} {
				if strings.HasPrefix(rest, name) {
					if inner {
						return strings.TrimSuffix(name, "(") + " within :has or :not is not supported, because it would take too long; use xpath"
					}
				}
			}
			if strings.HasPrefix(rest, ":has(") || strings.HasPrefix(rest, ":haschild(") || strings.HasPrefix(rest, ":not(") {
				inner = true
				if arg, ok := argument(text[i:]); ok {
					for _, c := range compounds(arg) {
						if c.after != 0 {
							return "only a simple selector such as .note may stand within :has and :not; use xpath"
						}
					}
				}
			}
		}
	}
	return ""
}

// argument returns what stands in the parentheses after a pseudo-class.
func argument(text string) (string, bool) {
	from, depth, quote := strings.IndexByte(text, '('), 0, byte(0)
	for i := from; i >= 0 && i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[from+1 : i], true
			}
		}
	}
	return "", false
}

// compound is a simple selector, which stands between combinators and commas.
type compound struct {
	text  string
	at    int // where it begins
	after byte
	last  bool
}

// compounds cuts a selector at its combinators and commas. A missing part is empty.
func compounds(text string) (list []compound) {
	const blank = " \t\n\r\f"
	from, after := 0, byte(0)
	add := func(to int, last bool) {
		raw := text[from:to]
		at := from + len(raw) - len(strings.TrimLeft(raw, blank))
		list = append(list, compound{strings.Trim(raw, blank), at, after, last})
	}
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0:
		case c == ',':
			add(i, true)
			from, after = i+1, 0
		case strings.IndexByte(blank+">+~", c) >= 0:
			if strings.Trim(text[from:i], blank) == "" && strings.IndexByte(blank, c) >= 0 {
				continue // before a part
			}
			end := i
			comb := byte(' ')
			for ; i < len(text) && strings.IndexByte(blank+">+~", text[i]) >= 0; i++ {
				if strings.IndexByte(blank, text[i]) >= 0 {
					continue
				}
				if comb != ' ' {
					break
				}
				comb = text[i]
			}
			if comb == ' ' && (i == len(text) || text[i] == ',') {
				i--
				continue // after the last part
			}
			add(end, false)
			from, after = i, comb
			i--
		}
	}
	add(len(text), true)
	return list
}

// work is what the selectors of a page may still cost.
type work struct {
	css   int
	steps int
	cut   []string
}

// size is how much is below a node.
type size struct{ kids, below int32 }

// weigh measures all nodes of the page once.
func (p *page) weigh() {
	if p.sizes != nil {
		return
	}
	p.sizes = map[*html.Node]size{}
	var walk func(n *html.Node) int32
	walk = func(n *html.Node) int32 {
		s := size{}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			s.kids++
			s.below += 1 + int32(len(c.Data)/8) + walk(c)
		}
		p.sizes[n] = s
		return s.below
	}
	walk(p.root)
}

// find calls yield with the elements that a selector matches, in their order, until it returns
// false. It stops when the page has cost too much.
func (p *page) find(s *selector, w *work, yield func(*html.Node) bool) {
	if s.weigh {
		p.weigh()
	}
	m := matcher{p, s, w, yield}
	m.below(p.root, 0, 0)
}

type matcher struct {
	p     *page
	s     *selector
	w     *work
	yield func(*html.Node) bool
}

// below compares the children of a node. Bit i of a set says that the parts up to i match a node:
// one of the ancestors, and the parent.
func (m *matcher) below(n *html.Node, ancestors, parent uint64) bool {
	var sibling, siblings uint64
	kids := int32(-1)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		var state uint64
		cost := 1 + len(c.Attr)
		for _, a := range c.Attr {
			cost += len(a.Val) / 64
		}
		found := false
		for i := range m.s.parts {
			p := &m.s.parts[i]
			before := ^uint64(0)
			switch p.after {
			case ' ':
				before = ancestors
			case '>':
				before = parent
			case '+':
				before = sibling
			case '~':
				before = siblings
			}
			if p.after != 0 && before>>(i-1)&1 == 0 {
				continue
			}
			m.w.css -= cost
			if p.siblings > 0 {
				if kids < 0 {
					kids = 0
					for k := n.FirstChild; k != nil; k = k.NextSibling {
						kids++
					}
				}
				m.w.css -= p.siblings * int(kids) / 2
			}
			if p.below > 0 {
				m.w.css -= p.below * int(m.p.sizes[c].below)
			}
			if m.w.css < 0 {
				return false
			}
			if p.sel.Match(c) {
				state |= 1 << i
				found = found || p.last
			}
		}
		if found && !m.yield(c) {
			return false
		}
		if !m.below(c, ancestors|state, state) {
			return false
		}
		sibling, siblings = state, siblings|state
	}
	return true
}
