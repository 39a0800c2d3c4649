package questions

import (
	"reflect"
	"slices"
)

// Entry describes a question of the table.
type Entry struct {
	Name    string
	By      Service
	Request reflect.Type
	Row     reflect.Type // of List a Part
}

// table has all questions in the order of the sources.
var table []Entry

// Table returns all questions.
func Table() []Entry { return slices.Clone(table) }

// add adds a question to the table.
func add[Q interface{ entry() Entry }](q Q) Q {
	table = append(table, q.entry())
	return q
}

func (q Question[Req, Row]) entry() Entry {
	return Entry{q.Name, q.By, reflect.TypeFor[Req](), reflect.TypeFor[Row]()}
}

func (l List[Req, Row]) entry() Entry {
	return Entry{l.Name, l.By, reflect.TypeFor[Req](), reflect.TypeFor[Part[Row]]()}
}
