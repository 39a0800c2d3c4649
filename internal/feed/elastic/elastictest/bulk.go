package elastictest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// action is a line of _bulk.
type action struct {
	name  string
	index string
	id    string
	// version is -1 if there is none.
	version int64
	kind    string
	source  []byte
}

func (s *Server) bulk(name string, q url.Values, body []byte) (any, error) {
	if err := only(q, "require_alias", "refresh", "filter_path", "timeout"); err != nil {
		return nil, err
	}
	actions, err := read(name, body)
	if err != nil {
		return nil, err
	}
	s.bulks++
	var fault Fault
	if s.config.Bulk != nil {
		fault = s.config.Bulk(s.bulks)
	}
	if fault.Status != 0 {
		return nil, &failure{status: fault.Status, kind: "es_rejected_execution_exception", reason: "rejected execution of coordinating operation", retryAfter: fault.RetryAfter}
	}
	s.largest = max(s.largest, int64(len(body)))
	items, failed := []object{}, false
	for n, a := range actions {
		if fault.Die && n == fault.Items {
			return nil, &failure{}
		}
		result, err := object{}, error(nil)
		if status := 0; fault.Item != nil {
			if status = fault.Item(a.id); status != 0 {
				err = &failure{status: status, kind: "es_rejected_execution_exception", reason: "rejected execution of primary operation"}
			}
		}
		if err == nil {
			result, err = s.apply(a, q.Get("require_alias") == "true")
		}
		if err != nil {
			var f *failure
			if !errors.As(err, &f) {
				f = bad("%v", err)
			}
			failed = true
			result = object{"_index": a.index, "status": f.status, "error": f.json()}
		}
		result["_id"] = a.id
		items = append(items, object{a.name: result})
	}
	if fault.Die {
		return nil, &failure{}
	}
	return object{"took": 1, "errors": failed, "items": items}, nil
}

// read reads the lines of a body.
func read(name string, body []byte) (actions []action, err error) {
	if len(body) == 0 {
		return nil, &failure{status: http.StatusBadRequest, kind: "parse_exception", reason: "request body is required"}
	}
	if body[len(body)-1] != '\n' {
		return nil, bad(`The bulk request must be terminated by a newline [\n]`)
	}
	lines := bytes.Split(body[:len(body)-1], []byte{'\n'})
	for n := 0; n < len(lines); n++ {
		o, err := decode(lines[n])
		if err != nil || len(o) != 1 {
			return nil, bad("Malformed action/metadata line [%d], expected FIELD_NAME: %.80s", n+1, lines[n])
		}
		a := action{index: name, version: -1, kind: "internal"}
		for kind, v := range o {
			target, ok := v.(object)
			if !ok || kind != "index" && kind != "delete" {
				return nil, bad("Malformed action/metadata line [%d], expected field [create], [delete], [index] or [update] but found [%s]", n+1, kind)
			}
			a.name = kind
			if err := a.target(n+1, target); err != nil {
				return nil, err
			}
		}
		if a.name == "index" {
			if n++; n == len(lines) {
				return nil, bad("The bulk request must have a source for each index action")
			}
			a.source = lines[n]
		}
		actions = append(actions, a)
	}
	return actions, nil
}

func (a *action) target(line int, target object) error {
	for key, v := range target {
		switch key {
		case "_index":
			a.index = fmt.Sprint(v)
		case "_id":
			a.id = fmt.Sprint(v)
		case "version":
			n, ok := v.(json.Number)
			if !ok {
				return bad("version is no number")
			}
			var err error
			if a.version, err = n.Int64(); err != nil {
				return bad("version: %v", err)
			}
		case "version_type":
			a.kind = fmt.Sprint(v)
		default:
			return bad("Action/metadata line [%d] contains an unknown parameter [%s]", line, key)
		}
	}
	return nil
}

// apply does what an action asks for.
func (s *Server) apply(a action, requireAlias bool) (object, error) {
	if a.id == "" || len(a.id) > 512 {
		return nil, bad("id [%.20s…] is missing, or too long, must be no longer than 512 bytes but was: %d", a.id, len(a.id))
	}
	i, name, err := s.writeIndex(a.index, requireAlias)
	if err != nil {
		return nil, err
	}
	has, known := i.version(a.id)
	version := has + 1
	switch a.kind {
	case "internal":
		if a.version >= 0 {
			return nil, bad("internal versioning can not be used for optimistic concurrency control. Please use `if_seq_no` and `if_primary_term` instead")
		}
	case "external_gte":
		if a.version < 0 {
			return nil, bad("illegal version value [%d] for version type [EXTERNAL_GTE]", a.version)
		}
		if known && a.version < has {
			return nil, &failure{status: http.StatusConflict, kind: "version_conflict_engine_exception", reason: fmt.Sprintf("[%s]: version conflict, current version [%d] is higher than the one provided [%d]", a.id, has, a.version)}
		}
		version = a.version
	default:
		return nil, bad("No version type match [%s]", a.kind)
	}
	result := object{"_index": name, "_version": version, "result": "created", "status": http.StatusCreated}
	if a.name == "delete" {
		result["result"], result["status"] = "deleted", http.StatusOK
		if !i.remove(a.id, version) {
			result["result"], result["status"] = "not_found", http.StatusNotFound
		}
		return result, nil
	}
	source, err := decode(a.source)
	if err != nil {
		return nil, unfit("failed to parse", &failure{kind: "json_parse_exception", reason: err.Error()})
	}
	if err := i.mapping.check("", source); err != nil {
		var f *failure
		if errors.As(err, &f) && s.config.Product == OpenSearch && f.kind == "document_parsing_exception" {
			f.kind = "mapper_parsing_exception"
		}
		return nil, err
	}
	if i.docs[a.id] != nil {
		result["result"], result["status"] = "updated", http.StatusOK
	}
	i.seq++
	i.docs[a.id] = &doc{version: version, seq: i.seq, source: source, raw: bytes.Clone(a.source)}
	delete(i.deleted, a.id)
	return result, nil
}

// deleteByQuery deletes what a search finds.
func (s *Server) deleteByQuery(name string, q url.Values, body []byte) (any, error) {
	if err := only(q, "conflicts", "refresh", "slices", "wait_for_completion"); err != nil {
		return nil, err
	}
	var r struct {
		Query object `json:"query"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	names := s.resolve(name)
	if len(names) == 0 {
		return nil, notFound(name)
	}
	deleted, conflicts := 0, 0
	for _, n := range names {
		i := s.indices[n]
		for id, found := range i.found {
			ok, err := matches(i.mapping, r.Query, found.source)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if now := i.docs[id]; now == nil || now.seq != found.seq {
				conflicts++
				continue
			}
			i.remove(id, found.version+1)
			deleted++
		}
		if q.Get("refresh") == "true" {
			i.refresh(time.Now())
		}
	}
	if conflicts > 0 && q.Get("conflicts") != "proceed" {
		return nil, &failure{status: http.StatusConflict, kind: "version_conflict_engine_exception", reason: fmt.Sprintf("%d conflicts", conflicts)}
	}
	return object{"took": 1, "timed_out": false, "deleted": deleted, "total": deleted + conflicts, "version_conflicts": conflicts, "failures": []any{}}, nil
}
