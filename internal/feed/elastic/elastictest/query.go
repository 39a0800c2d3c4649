package elastictest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// matches reports whether a document matches a query. A field that is not in the mapping is not
// indexed, so nothing matches it.
func matches(m *mapping, query, source object) (bool, error) {
	if len(query) != 1 {
		return false, bad("query malformed, no start_object after query name")
	}
	for kind, v := range query {
		body, ok := v.(object)
		if !ok {
			return false, bad("[%s] query malformed", kind)
		}
		switch kind {
		case "match_all":
			return true, nil
		case "bool":
			return matchesBool(m, body, source)
		case "term", "range":
			if len(body) != 1 {
				return false, bad("[%s] query doesn't support multiple fields", kind)
			}
			for name, condition := range body {
				f := m.fields[name]
				if f == nil {
					return false, nil
				}
				if kind == "term" {
					return matchesTerm(f, condition, source[name]), nil
				}
				return matchesRange(condition, source[name])
			}
		}
	}
	return false, bad("unknown query %v", query)
}

func matchesBool(m *mapping, body, source object) (bool, error) {
	for occur, v := range body {
		list, ok := v.([]any)
		if !ok || occur != "filter" && occur != "must" && occur != "must_not" {
			return false, bad("[bool] query does not support [%s] here", occur)
		}
		for _, q := range list {
			o, _ := q.(object)
			is, err := matches(m, o, source)
			if err != nil || is == (occur == "must_not") {
				return false, err
			}
		}
	}
	return true, nil
}

// matchesTerm compares a value as a whole. Those of a text were cut into words, in lower case.
func matchesTerm(f *field, condition, value any) bool {
	if o, ok := condition.(object); ok {
		condition = o["value"]
	}
	want, has := fmt.Sprint(condition), fmt.Sprint(value)
	if f.kind == "text" {
		for _, word := range strings.Fields(strings.ToLower(has)) {
			if word == want {
				return true
			}
		}
		return false
	}
	return value != nil && want == has
}

func matchesRange(condition, value any) (bool, error) {
	o, ok := condition.(object)
	if !ok {
		return false, bad("[range] query malformed")
	}
	n, ok := value.(json.Number)
	if !ok {
		return false, nil
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return false, nil
	}
	for op, limit := range o {
		l, err := strconv.ParseInt(fmt.Sprint(limit), 10, 64)
		if err != nil {
			return false, bad("[range] query: %v", err)
		}
		switch op {
		case "lt":
			ok = v < l
		case "lte":
			ok = v <= l
		case "gt":
			ok = v > l
		case "gte":
			ok = v >= l
		default:
			return false, bad("[range] query does not support [%s]", op)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// Doc is a document of an index.
type Doc struct {
	Version int64
	Source  []byte // as it was sent
}

// Docs are the documents of an index, or of all indices behind an alias, by their ID. What was not
// refreshed yet is among them.
func (s *Server) Docs(name string) map[string]Doc {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Doc{}
	for _, n := range s.resolve(name) {
		for id, d := range s.indices[n].docs {
			all[id] = Doc{d.version, d.raw}
		}
	}
	return all
}

// Kinds are the types of the fields of an index, by their paths.
func (s *Server) Kinds(index string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indices[index] == nil {
		return nil
	}
	return s.indices[index].mapping.kinds("")
}

func (m *mapping) kinds(at string) map[string]string {
	all := map[string]string{}
	for name, f := range m.fields {
		if all[at+name] = f.kind; f.objects != nil {
			maps.Copy(all, f.objects.kinds(at+name+"."))
		}
	}
	return all
}

// MakeIndex makes an index with a mapping in JSON, which may be empty: then it is dynamic.
func (s *Server) MakeIndex(name, mapping string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.newIndex(name, json.RawMessage(mapping))
	return err
}

// DropIndex deletes an index with its aliases.
func (s *Server) DropIndex(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.indices, name)
	for alias, of := range s.aliases {
		if delete(of, name); len(of) == 0 {
			delete(s.aliases, alias)
		}
	}
}
