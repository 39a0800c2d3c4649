package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// file is the content of a configuration file: one flat mapping.
type file struct {
	name   string
	values map[string]any
	lines  map[string]int // the line of each key
}

// readFile reads a configuration file and refuses keys that no command knows. It does not leave the
// YAML to viper, which loses line numbers and the spelling of values.
func readFile(name string) (*file, error) {
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, values: map[string]any{}, lines: map[string]int{}}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return f, nil // empty, or comments only
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return f, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s line %d: expected lines like \"delay: 1s\"", name, top.Line)
	}
	known := Keys()
	for i := 0; i+1 < len(top.Content); i += 2 {
		k, val := top.Content[i], top.Content[i+1]
		if err := f.add(k, val, known); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", name, k.Line, err)
		}
	}
	return f, nil
}

func (f *file) add(k, val *yaml.Node, known []string) error {
	key := keyOf(k.Value)
	if !slices.Contains(known, key) {
		if n := Nearest(key, known); n != "" {
			return fmt.Errorf("unknown key %q; did you mean %s?", k.Value, n)
		}
		return fmt.Errorf("unknown key %q; the keys are the names of flags without dashes in front, for example max-pages: curtsy crawl --help-all", k.Value)
	}
	if key == "config" {
		return errors.New("a file cannot name another file; use --config or CURTSY_CONFIG")
	}
	if line, twice := f.lines[key]; twice {
		return fmt.Errorf("%s is set twice, first in line %d; remove one of the lines", key, line)
	}
	var v any
	if err := val.Decode(&v); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if _, nested := v.(map[string]any); nested {
		return fmt.Errorf("%s: expected a value or a list, but found a mapping; write it on one line, for example delay: 1s", key)
	}
	if v == nil {
		return nil // "key:" without a value counts as not set
	}
	if val.Kind == yaml.ScalarNode {
		v = val.Value // as written: 010, yes and 1e3 keep their spelling
	}
	f.lines[key], f.values[key] = k.Line, v
	return nil
}

// settings returns the values in the file that a command with these fields uses.
func (f *file) settings(fields []field) map[string]any {
	m := map[string]any{}
	for _, fd := range fields {
		v, ok := f.values[fd.key]
		if !ok {
			continue
		}
		if one, ok := v.(string); ok && fd.value.Type() == reflect.TypeFor[[]string]() {
			v = []any{one} // a list of one, whose text may contain blanks
		}
		m[fd.key] = v
	}
	return m
}
