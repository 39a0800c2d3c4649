package shapes

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object returns v if it is an object, else nil.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// list returns the values in v: its members, or v itself.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// text returns v if it is a text or a number, or the first such value of a list.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	case []any:
		for _, e := range v {
			if s := text(e); s != "" {
				return s
			}
		}
	}
	return ""
}

// first returns the first value that is there: no null, and no empty text or list.
func first(values ...any) any {
	for _, v := range values {
		switch e := v.(type) {
		case nil:
			continue
		case string:
			if strings.TrimSpace(e) == "" {
				continue
			}
		case []any:
			if len(e) == 0 {
				continue
			}
		}
		return v
	}
	return nil
}

// each returns what one has of each value in v, where there is something.
func each(v any, one func(any) any) (all []any) {
	for _, e := range list(v) {
		if x := first(one(e)); x != nil {
			all = append(all, x)
		}
	}
	return all
}

// property returns the value of a property of an object, for each.
func property(path string) func(any) any {
	return func(v any) any { return at(v, path) }
}

// at returns the first value at a path that is not null.
func at(v any, path string) (found any) {
	eachAt(v, path, func(v any) bool {
		found = v
		return v == nil
	})
	return found
}

// eachAt calls fn for the values at a path, through the first members of lists, until it returns
// false.
func eachAt(v any, path string, fn func(any) bool) bool {
	if all, is := v.([]any); is && path != "" {
		for _, e := range all[:min(len(all), tried)] {
			if !eachAt(e, path, fn) {
				return false
			}
		}
		return true
	}
	if path == "" {
		return fn(v)
	}
	name, rest, _ := strings.Cut(path, ".")
	e, ok := object(v)[name]
	return !ok || eachAt(e, rest, fn)
}

// license makes a licence of its names and addresses. The catalogue chooses the one that is known.
func license(address any, names ...any) any {
	name, u := first(names...), text(address)
	if name == nil && u == "" {
		return nil
	}
	return map[string]any{"url": u, "name": name}
}

// checksum makes a digest of its value and the name of its algorithm. Without that, the catalogue
// finds the algorithm in the value or by its length.
func checksum(algorithm, value string) any {
	if value == "" {
		return nil
	}
	return map[string]any{"algorithm": algorithm, "checksumValue": value}
}

// column makes a column of a table.
func column(name, kind, description any) any {
	if first(name) == nil {
		return nil
	}
	return map[string]any{"name": name, "dataType": kind, "description": description}
}

// since1970 returns a time that is written as a number of units since 1970.
func since1970(v any, unit time.Duration) any {
	n, err := strconv.ParseInt(text(v), 10, 64)
	if err != nil || n <= 0 || n > int64(time.Duration(1<<62)/unit) {
		return nil
	}
	return time.Unix(0, n*int64(unit)).UTC().Format(time.RFC3339)
}

// digits returns s if it has only digits.
func digits(s string) string {
	if strings.Trim(s, "0123456789") != "" {
		return ""
	}
	return s
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
