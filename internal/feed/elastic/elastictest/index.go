package elastictest

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"
)

const (
	gcDeletes       = time.Minute // index.gc_deletes
	refreshInterval = time.Second // index.refresh_interval
)

// index is a concrete index.
type index struct {
	mapping  *mapping
	docs     map[string]*doc
	deleted  map[string]tombstone
	found    map[string]*doc // what a search finds: the documents of the last refresh
	refreshd time.Time
	seq      int64
}

// doc is a document. It is not changed, but replaced.
type doc struct {
	version, seq int64
	source       object
	raw          []byte
}

// tombstone is what is left of a deleted document for a while.
type tombstone struct {
	version int64
	at      time.Time
}

type indexTemplate struct {
	IndexPatterns []string `json:"index_patterns"`
	Priority      int      `json:"priority"`
	Template      struct {
		Mappings json.RawMessage `json:"mappings"`
	} `json:"template"`
	Meta any `json:"_meta"`
}

func (s *Server) newIndex(name string, mappings ...json.RawMessage) (*index, error) {
	m := &mapping{dynamic: true, fields: map[string]*field{}}
	best := indexTemplate{Priority: -1}
	for _, t := range s.templates {
		for _, pattern := range t.IndexPatterns {
			if ok, _ := path.Match(pattern, name); ok && t.Priority > best.Priority {
				best = t
			}
		}
	}
	for _, raw := range append([]json.RawMessage{best.Template.Mappings}, mappings...) {
		if err := m.merge(raw); err != nil {
			return nil, err
		}
	}
	i := &index{mapping: m, docs: map[string]*doc{}, deleted: map[string]tombstone{}, found: map[string]*doc{}, refreshd: time.Now()}
	s.indices[name] = i
	return i, nil
}

func (i *index) refresh(now time.Time) {
	i.found, i.refreshd = maps.Clone(i.docs), now
}

func (i *index) refreshIfDue(now time.Time) {
	if now.Sub(i.refreshd) >= refreshInterval {
		i.refresh(now)
	}
}

// version is that of a document or of a tombstone.
func (i *index) version(id string) (v int64, known bool) {
	if d := i.docs[id]; d != nil {
		return d.version, true
	}
	if t, ok := i.deleted[id]; ok && time.Since(t.at) < gcDeletes {
		return t.version, true
	}
	return 0, false
}

func (i *index) remove(id string, version int64) (was bool) {
	_, was = i.docs[id]
	delete(i.docs, id)
	i.seq++
	i.deleted[id] = tombstone{version, time.Now()}
	return was
}

func notFound(name string) *failure {
	return &failure{status: http.StatusNotFound, kind: "index_not_found_exception", reason: "no such index [" + name + "]"}
}

// resolve finds the indices of a name.
func (s *Server) resolve(name string) (names []string) {
	if s.indices[name] != nil {
		return []string{name}
	}
	return slices.Sorted(maps.Keys(s.aliases[name]))
}

// writeIndex finds the index that a write to a name goes to.
func (s *Server) writeIndex(name string, requireAlias bool) (*index, string, error) {
	if of := s.aliases[name]; of != nil {
		for index, write := range of {
			if write || len(of) == 1 {
				return s.indices[index], index, nil
			}
		}
		return nil, "", bad("no write index is defined for alias [%s]", name)
	}
	if requireAlias {
		f := notFound(name)
		f.reason += " and [require_alias] request flag is [true] and [" + name + "] is not an alias"
		return nil, "", f
	}
	if i := s.indices[name]; i != nil {
		return i, name, nil
	}
	i, err := s.newIndex(name)
	return i, name, err
}

func (s *Server) create(name string, body []byte) (any, error) {
	var c struct {
		Aliases map[string]struct {
			IsWriteIndex bool `json:"is_write_index"`
		} `json:"aliases"`
		Mappings json.RawMessage `json:"mappings"`
		Settings json.RawMessage `json:"settings"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, err
		}
	}
	if s.indices[name] != nil {
		return nil, &failure{status: http.StatusBadRequest, kind: "resource_already_exists_exception", reason: "index [" + name + "] already exists"}
	}
	if s.aliases[name] != nil {
		return nil, &failure{status: http.StatusBadRequest, kind: "invalid_index_name_exception", reason: "Invalid index name [" + name + "], already exists as alias"}
	}
	if _, err := s.newIndex(name, c.Mappings); err != nil {
		return nil, err
	}
	for alias, a := range c.Aliases {
		s.addAlias(alias, name, a.IsWriteIndex)
	}
	return object{"acknowledged": true, "shards_acknowledged": true, "index": name}, nil
}

func (s *Server) addAlias(alias, index string, write bool) {
	if s.aliases[alias] == nil {
		s.aliases[alias] = map[string]bool{}
	}
	s.aliases[alias][index] = write
}

func (s *Server) changeAliases(body []byte) (any, error) {
	var c struct {
		Actions []map[string]struct {
			Index        string `json:"index"`
			Alias        string `json:"alias"`
			IsWriteIndex bool   `json:"is_write_index"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	for _, action := range c.Actions {
		add, ok := action["add"]
		if !ok || len(action) != 1 {
			return nil, bad("only add is known here")
		}
		if s.indices[add.Index] == nil {
			return nil, notFound(add.Index)
		}
		s.addAlias(add.Alias, add.Index, add.IsWriteIndex)
	}
	return object{"acknowledged": true}, nil
}

func (s *Server) putTemplate(name string, body []byte) (any, error) {
	var t indexTemplate
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, err
	}
	if len(t.IndexPatterns) == 0 {
		return nil, bad("index_patterns is required")
	}
	if err := new(mapping).merge(t.Template.Mappings); err != nil {
		return nil, err
	}
	s.templates[name] = t
	return object{"acknowledged": true}, nil
}

func (s *Server) getMapping(name string) (any, error) {
	names := s.resolve(name)
	if len(names) == 0 {
		return nil, notFound(name)
	}
	answer := object{}
	for _, n := range names {
		answer[n] = object{"mappings": s.indices[n].mapping.json()}
	}
	return answer, nil
}

func (s *Server) putMapping(name string, body []byte) (any, error) {
	names := s.resolve(name)
	if len(names) == 0 {
		return nil, notFound(name)
	}
	for _, n := range names {
		if err := s.indices[n].mapping.merge(body); err != nil {
			return nil, err
		}
	}
	return object{"acknowledged": true}, nil
}

func (s *Server) refresh(name string) (any, error) {
	names := s.resolve(name)
	if len(names) == 0 {
		return nil, notFound(name)
	}
	for _, n := range names {
		s.indices[n].refresh(time.Now())
	}
	return object{"_shards": object{"total": 1, "successful": 1, "failed": 0}}, nil
}
