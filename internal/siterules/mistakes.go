package siterules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mistakes collects what is wrong in a file.
type mistakes struct {
	name string
	all  []mistake
}

type mistake struct {
	line, column int
	text         string
}

// at adds a mistake at the beginning of a node.
func (m *mistakes) at(n *yaml.Node, format string, args ...any) { m.within(n, 0, format, args...) }

// within adds a mistake at a byte of a value. If the value is written with escapes or on several
// lines, its beginning is named.
func (m *mistakes) within(n *yaml.Node, offset int, format string, args ...any) {
	column := n.Column
	if n.Kind == yaml.ScalarNode && offset > 0 && offset <= len(n.Value) {
		switch before := n.Value[:offset]; {
		case strings.ContainsAny(n.Value, "\n"):
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		case n.Style&yaml.SingleQuotedStyle != 0:
			column += 1 + len([]rune(before)) + strings.Count(before, "'")
		case n.Style&yaml.DoubleQuotedStyle != 0:
			if !strings.ContainsAny(before, `\"`) {
				column += 1 + len([]rune(before))
			}
		default:
			column += len([]rune(before))
		}
	}
	m.add(n.Line, column, format, args...)
}

func (m *mistakes) add(line, column int, format string, args ...any) {
	m.all = append(m.all, mistake{line, column, fmt.Sprintf(format, args...)})
}

// err returns the mistakes in the order of their lines, nil if there are none.
func (m *mistakes) err() error {
	if len(m.all) == 0 {
		return nil
	}
	slices.SortStableFunc(m.all, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	e := &Error{}
	for i, k := range m.all {
		if i == maxMistakes {
			e.more = len(m.all) - i
			break
		}
		e.Mistakes = append(e.Mistakes, fmt.Sprintf("%s:%d:%d: %s", m.name, k.line, k.column, k.text))
	}
	return e
}

// Error lists the mistakes of a file.
type Error struct {
	Mistakes []string // as "sites.yaml:12:9: …", in the order of the lines, 20 at most
	more     int
}

// Error returns the mistakes, one on a line.
func (e *Error) Error() string {
	text := strings.Join(e.Mistakes, "\n")
	if e.more > 0 {
		text += fmt.Sprintf("\n… and %d more", e.more)
	}
	return text
}
