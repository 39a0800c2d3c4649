package siterules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/pkg/canon"
)

// pattern is an element of include or exclude.
type pattern struct {
	text  string
	line  int
	re    *regexp.Regexp
	query bool // it is compared with the path and the query, not with the path alone
}

func (p *pattern) matches(u canon.URL) bool {
	if p.query {
		return p.re.MatchString(u.PathQuery())
	}
	return p.re.MatchString(u.Path())
}

// expression introduces a regular expression where a glob may be given.
const expression = "re:"

// pattern compiles a glob, or a regular expression after "re:". It returns nil after a mistake.
func (r *reader) pattern(text string, n *yaml.Node, what string) *pattern {
	p := &pattern{text: text, line: n.Line, query: true}
	if expr, ok := strings.CutPrefix(text, expression); ok {
		expr = strings.TrimSpace(expr)
		if p.re = r.regexp(expr, n, strings.LastIndex(text, expr), what, `re:^/docs/(8|9)\.`); p.re == nil {
			return nil
		}
		return p
	}
	switch {
	case len(text) > 1 && text[0] == '/' && text[len(text)-1] == '/' && strings.ContainsAny(text, `^$()|+\`):
		r.At(n, "%s %q looks like a regular expression between slashes; write re: before it, as in %q", what, text, expression+strings.Trim(text, "/"))
		return nil
	case strings.Contains(text, "://"):
		r.At(n, "%s %q is compared with paths, which begin with a slash; use for example /docs/**", what, text)
		return nil
	case !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "**"):
		r.At(n, "%s %q must begin with a slash, or with ** for any folder; use for example /%s", what, text, text)
		return nil
	case strings.Contains(text, "***"):
		r.Within(n, strings.Index(text, "***"), `%s %q: use "*" for anything but a slash, and "**" for anything`, what, text)
		return nil
	case strings.Contains(text, "#"):
		r.Within(n, strings.Index(text, "#"), "%s %q: URLs are crawled without the part behind #", what, text)
		return nil
	}
	p.query = strings.Contains(text, "?")
	p.re = regexp.MustCompile(globExpr(text))
	return p
}

// globExpr writes a glob as a regular expression. "*" is anything but a slash, "**"
// anything. All others stand for themselves, in the spelling of package canon.
func globExpr(glob string) string {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '*' && i+1 < len(glob) && glob[i+1] == '*':
			b.WriteString("(?s:.*)")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}|^", c) >= 0 && !strings.Contains(glob[:i], "?"):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		}
	}
	return b.String() + "$"
}

// regexp compiles an expression that begins at a byte of a value. It returns nil after a mistake.
func (r *reader) regexp(expr string, n *yaml.Node, offset int, what, works string) *regexp.Regexp {
	if expr == "" {
		r.At(n, "%s: the regular expression is empty; use for example %s", what, works)
		return nil
	}
	re, err := regexp.Compile(expr)
	if err == nil {
		return re
	}
	why, where := err.Error(), 0
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		why = se.Code.String()
		if se.Expr != expr && se.Expr != "" {
			why += " `" + se.Expr + "`"
			where = max(strings.Index(expr, se.Expr), 0)
		}
		switch se.Code {
		case syntax.ErrMissingParen:
			where = unclosed(expr)
		case syntax.ErrInvalidPerlOp:
			why += "; expressions have the syntax of RE2, without (?=, (?! and (?<="
		}
	}
	r.Within(n, offset+where, "%s: `%s` is not a regular expression: %s; use for example %s", what, expr, why, works)
	return nil
}

// unclosed is the byte of the last "(" that has no ")".
func unclosed(expr string) int {
	var open []int
	class := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}
