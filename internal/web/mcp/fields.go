package mcp

import (
	"maps"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Limits of the fields of a page that are given to a model.
const (
	maxFields     = 20
	maxFieldValue = 200 // characters of all values of a field
)

// fields are the values of a page's fields by name; several are separated by "; ".
type fields map[string]string

func fieldsOf(all crawl.Fields) fields {
	if len(all) == 0 {
		return nil
	}
	out := fields{}
	for _, f := range all[:min(len(all), maxFields)] {
		if value := line(strings.Join(f.Values, "; "), maxFieldValue); value != "" {
			out[line(f.Name, maxTitle)] = value
		}
	}
	return out
}

// words are the fields as text.
func (f fields) words() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		all = append(all, name+": "+f[name])
	}
	return strings.Join(all, " | ")
}
