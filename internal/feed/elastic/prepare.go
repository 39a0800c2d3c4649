package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Prepare checks that the server is one of the two, and makes the index with its alias, or adds
// what is missing to the mapping of an existing index. It may run concurrently in several
// processes.
func (s *Sink) Prepare(ctx context.Context, fields []siterules.FieldInfo) error {
	if err := s.identify(ctx); err != nil {
		return err
	}
	found, err := s.mappings(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		if err := s.putTemplate(ctx, fields); err != nil {
			return err
		}
		if err := s.create(ctx); err != nil {
			return err
		}
		if found, err = s.mappings(ctx); err != nil {
			return err
		}
	} else if _, ours := found[s.index+firstIndex]; ours {
		if err := s.putTemplate(ctx, fields); err != nil { // a later index has the new fields, too
			return err
		}
	}
	_, concrete := found[s.index]
	s.isAlias.Store(!concrete)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		missing := found[name].missing(properties(fields))
		if len(missing) == 0 {
			continue
		}
		what := "/" + name + "/_mapping"
		a, err := s.json(ctx, http.MethodPut, what, map[string]any{"properties": missing})
		if err != nil {
			return err
		}
		if a.status != http.StatusOK {
			return s.failed("PUT "+what, a)
		}
	}
	return nil
}

// firstIndex is the end of the name of the first index. The names of those that follow it count on,
// as the servers' rollover requires.
const firstIndex = "-000001"

// identify makes sure that the address is a server of one of the two products. An account may be
// forbidden to ask.
func (s *Sink) identify(ctx context.Context) error {
	a, err := s.do(ctx, http.MethodGet, "/", "", nil)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusForbidden:
		return nil
	case a.status != http.StatusOK:
		return s.failed("GET /", a)
	}
	var info struct {
		Version struct {
			Number       string `json:"number"`
			Distribution string `json:"distribution"`
		} `json:"version"`
	}
	if json.Unmarshal(a.body, &info) != nil || info.Version.Number == "" {
		return &feed.Permanent{Err: fmt.Errorf("%s is no Elasticsearch and no OpenSearch: check the address and the port", s.server)}
	}
	old := info.Version.Distribution != "opensearch" && slices.Contains([]string{"1", "2", "5", "6"}, strings.Split(info.Version.Number, ".")[0])
	if old {
		return &feed.Permanent{Err: fmt.Errorf("%s is Elasticsearch %s, and the feed needs 7.10 or later, or OpenSearch", s.server, info.Version.Number)}
	}
	return nil
}

// mapping is what an index has, by field.
type mapping struct {
	Properties map[string]struct {
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"properties"`
}

// mappings returns those of the index, or of all indices behind the alias. Nil means that there is
// neither.
func (s *Sink) mappings(ctx context.Context) (map[string]mapping, error) {
	what := "/" + s.index + "/_mapping"
	a, err := s.do(ctx, http.MethodGet, what, "", nil)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotFound && a.reason().Type == "index_not_found_exception" {
		return nil, nil
	}
	if a.status != http.StatusOK {
		return nil, s.failed("GET "+what, a)
	}
	var answers map[string]struct {
		Mappings mapping `json:"mappings"`
	}
	if err := json.Unmarshal(a.body, &answers); err != nil {
		return nil, fmt.Errorf("%s: the answer to GET %s cannot be read: %w", s.server, what, err)
	}
	found := map[string]mapping{}
	for name, answer := range answers {
		found[name] = answer.Mappings
	}
	return found, nil
}

// missing returns the properties that a mapping does not have. What it has stays as it is, also if
// its type is another one: then a document that does not fit is refused with the server's reason.
func (m mapping) missing(want object) object {
	missing := object{}
	for name, property := range want {
		has, ok := m.Properties[name]
		if !ok {
			missing[name] = property
			continue
		}
		inner, ok := property.(object)["properties"].(object)
		if !ok || name != fieldsProperty {
			continue
		}
		fields := object{}
		for field, p := range inner {
			if _, ok := has.Properties[field]; !ok {
				fields[field] = p
			}
		}
		if len(fields) > 0 {
			missing[name] = object{"properties": fields}
		}
	}
	return missing
}

// putTemplate makes or replaces the index template. Without the privilege to do so there is none,
// and only later indices of a rollover lack the mapping.
func (s *Sink) putTemplate(ctx context.Context, fields []siterules.FieldInfo) error {
	what := "/_index_template/curtsy-" + s.index
	a, err := s.json(ctx, http.MethodPut, what, template(s.index, fields))
	switch {
	case err != nil:
		return err
	case a.status == http.StatusForbidden:
		s.log.Warn("the account may not make an index template, so a later index of a rollover has no mapping", "server", s.server, "template", "curtsy-"+s.index)
	case a.status != http.StatusOK:
		return s.failed("PUT "+what, a)
	}
	return nil
}

// create makes the first index with its alias. Another process may make it at the same time. If the
// alias was removed from it, the alias is added again.
func (s *Sink) create(ctx context.Context) error {
	name := s.index + firstIndex
	body := object{ // Prepare adds the fields of the site rules
		"aliases":  object{s.index: object{"is_write_index": true}},
		"mappings": object{"dynamic": false, "properties": properties(nil)},
	}
	a, err := s.json(ctx, http.MethodPut, "/"+name, body)
	if err != nil {
		return err
	}
	switch why := a.reason().Type; {
	case a.status == http.StatusOK:
		return nil
	case a.status != http.StatusBadRequest || why != "resource_already_exists_exception":
		return s.failed("PUT /"+name, a)
	}
	add := object{"actions": []object{{"add": object{"index": name, "alias": s.index, "is_write_index": true}}}}
	if a, err = s.json(ctx, http.MethodPost, "/_aliases", add); err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return s.failed("POST /_aliases", a)
	}
	return nil
}
