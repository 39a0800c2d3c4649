package rulefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMistakes is how many mistakes an error lists.
const maxMistakes = 20

// Mistakes collects what is wrong in a file. It must not be used concurrently.
type Mistakes struct {
	Name string // of the file, for messages
	all  []mistake
}

type mistake struct {
	line, column int
	text         string
}

// At adds a mistake at the beginning of a node.
func (m *Mistakes) At(n *yaml.Node, format string, args ...any) { m.Within(n, 0, format, args...) }

// Within adds a mistake at a byte of a value. If the value is written with escapes or on several
// lines, its beginning is named.
func (m *Mistakes) Within(n *yaml.Node, offset int, format string, args ...any) {
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
	m.Add(n.Line, column, format, args...)
}

// Add adds a mistake at a line and column, both counted from 1.
func (m *Mistakes) Add(line, column int, format string, args ...any) {
	m.all = append(m.all, mistake{line, column, fmt.Sprintf(format, args...)})
}

// Count is how many mistakes there are.
func (m *Mistakes) Count() int { return len(m.all) }

// Err returns the mistakes in the order of their lines, as an *Error; nil if there are none.
func (m *Mistakes) Err() error {
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
		e.Mistakes = append(e.Mistakes, fmt.Sprintf("%s:%d:%d: %s", m.Name, k.line, k.column, k.text))
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
