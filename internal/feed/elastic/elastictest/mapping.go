package elastictest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// mapping is that of an index, or of a field that is an object.
type mapping struct {
	dynamic bool
	fields  map[string]*field
}

// field is a field of a mapping.
type field struct {
	kind    string
	raw     object   // as it was given
	objects *mapping // of an object
}

// kinds are the types that are known here.
var kinds = map[string]bool{"keyword": true, "text": true, "double": true, "long": true, "integer": true, "date": true, "boolean": true, "object": true}

// merge adds to a mapping. The type of a field cannot change.
func (m *mapping) merge(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	o, err := decode(raw)
	if err != nil {
		return err
	}
	return m.mergeObject("", o)
}

func (m *mapping) mergeObject(at string, o object) error {
	if m.fields == nil {
		m.fields = map[string]*field{}
	}
	if d, ok := o["dynamic"]; ok {
		m.dynamic = fmt.Sprint(d) == "true"
	}
	properties, _ := o["properties"].(object)
	for name, v := range properties {
		p, ok := v.(object)
		if !ok {
			return &failure{status: http.StatusBadRequest, kind: "mapper_parsing_exception", reason: "Expected map for property [" + at + name + "]"}
		}
		kind, _ := p["type"].(string)
		if kind == "" {
			kind = "object"
		}
		if !kinds[kind] {
			return &failure{status: http.StatusBadRequest, kind: "mapper_parsing_exception", reason: "The mapper type [" + kind + "] declared on field [" + at + name + "] does not exist."}
		}
		f := m.fields[name]
		if f == nil {
			f = &field{kind: kind, raw: p}
			if kind == "object" {
				f.objects = &mapping{dynamic: m.dynamic}
			}
			m.fields[name] = f
		}
		if f.kind != kind {
			return bad("mapper [%s%s] cannot be changed from type [%s] to [%s]", at, name, f.kind, kind)
		}
		if kind == "object" {
			if err := f.objects.mergeObject(at+name+".", p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mapping) json() object {
	properties := object{}
	for name, f := range m.fields {
		if f.kind == "object" {
			properties[name] = f.objects.json()
			continue
		}
		properties[name] = f.raw
	}
	return object{"dynamic": strconv.FormatBool(m.dynamic), "properties": properties}
}

// check checks a document, and adds its new fields to a dynamic mapping.
func (m *mapping) check(at string, o object) error {
	for name, v := range o {
		if v == nil {
			continue
		}
		f := m.fields[name]
		if f == nil && m.dynamic {
			if f = guess(v); f != nil {
				m.fields[name] = f
			}
		}
		if f == nil {
			continue // it is stored and not indexed
		}
		values, many := v.([]any)
		if !many {
			values = []any{v}
		}
		for _, one := range values {
			if err := f.check(at+name, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// guess is the dynamic mapping of a value.
func guess(v any) *field {
	kind := ""
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return nil
		}
		return guess(v[0])
	case object:
		return &field{kind: "object", objects: &mapping{dynamic: true, fields: map[string]*field{}}}
	case bool:
		kind = "boolean"
	case json.Number:
		kind = "double"
		if _, err := v.Int64(); err == nil {
			kind = "long"
		}
	case string:
		kind = "text"
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			kind = "date"
		}
	}
	return &field{kind: kind, raw: object{"type": kind}}
}

// check checks a value.
func (f *field) check(name string, v any) error {
	if v == nil {
		return nil
	}
	o, isObject := v.(object)
	if f.kind == "object" {
		if !isObject {
			return unfit(fmt.Sprintf("object mapping for [%s] tried to parse field [%s] as object, but found a concrete value", name, name), nil)
		}
		return f.objects.check(name+".", o)
	}
	text := fmt.Sprint(v)
	failed := func(kind, reason string) error {
		return unfit(fmt.Sprintf("failed to parse field [%s] of type [%s]. Preview of field's value: '%.40s'", name, f.kind, text), &failure{kind: kind, reason: reason})
	}
	if isObject {
		return failed("illegal_state_exception", "Can't get text on a START_OBJECT")
	}
	var err error
	switch f.kind {
	case "double":
		_, err = strconv.ParseFloat(text, 64)
	case "long":
		_, err = strconv.ParseInt(text, 10, 64)
	case "integer":
		_, err = strconv.ParseInt(text, 10, 32)
	case "boolean":
		if text != "true" && text != "false" && text != "" {
			return failed("illegal_argument_exception", "Failed to parse value ["+text+"] as only [true] or [false] are allowed.")
		}
	case "date":
		return f.checkDate(text, v, failed)
	case "keyword":
		if limit, ok := f.raw["ignore_above"]; (!ok || fmt.Sprint(limit) > "8191") && len(text) > 32766 {
			return &failure{status: http.StatusBadRequest, kind: "illegal_argument_exception", reason: `Document contains at least one immense term in field="` + name + `" (whose UTF8 encoding is longer than the max length 32766)`}
		}
	}
	if err != nil {
		return failed("number_format_exception", fmt.Sprintf("For input string: \"%.40s\"", text))
	}
	return nil
}

// checkDate is the format strict_date_optional_time||epoch_millis.
func (f *field) checkDate(text string, v any, failed func(kind, reason string) error) error {
	if _, ok := v.(json.Number); ok {
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006-01", "2006"} {
		if _, err := time.Parse(layout, text); err == nil {
			return nil
		}
	}
	return failed("illegal_argument_exception", "failed to parse date field ["+text+"] with format [strict_date_optional_time||epoch_millis]")
}

func unfit(reason string, cause *failure) *failure {
	return &failure{status: http.StatusBadRequest, kind: "document_parsing_exception", reason: "[1:1] " + reason, cause: cause}
}
