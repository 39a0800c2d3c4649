package usage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of tdmrep.json.
const (
	MaxTDMRep      = 1 << 20 // bytes; a longer file counts as missing
	maxTDMRepRules = 10_000  // rules; further ones are not read
)

// TDMRep is a /.well-known/tdmrep.json (TDM Reservation Protocol). It does not change.
type TDMRep struct {
	rules []tdmRule
}

type tdmRule struct {
	pattern
	reserved Value // Disallow: reserved, Allow: not reserved; Unknown: neither 0 nor 1
	policy   string
	line     int
}

// ParseTDMRep parses the file. A body that is not a JSON array, such as an HTML page, or is too
// long, is an error and counts as no file (formats §8.17). An invalid entry is left out.
func ParseTDMRep(body []byte) (*TDMRep, error) {
	if len(body) > MaxTDMRep {
		return nil, errors.New("the file is longer than 1 MiB: ignored")
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("not a JSON array: ignored")
	}
	f := new(TDMRep)
	line, counted := 1, 0
	for d.More() && len(f.rules) < maxTDMRepRules {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("the JSON is broken: ignored: %w", err)
		}
		start := int(d.InputOffset()) - len(raw)
		line += bytes.Count(body[counted:start], []byte("\n"))
		counted = start
		var e struct {
			Location    string          `json:"location"`
			Reservation json.RawMessage `json:"tdm-reservation"`
			Policy      json.RawMessage `json:"tdm-policy"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Location == "" || len(e.Location) > maxPattern {
			continue
		}
		if e.Location[0] != '/' && e.Location[0] != '*' {
			e.Location = "/" + e.Location
		}
		r := tdmRule{pattern: newPattern(e.Location), reserved: reservation(strings.Trim(string(e.Reservation), `"`)), line: line}
		_ = json.Unmarshal(e.Policy, &r.policy) // a policy of another type is ignored
		f.rules = append(f.rules, r)
	}
	if len(f.rules) < maxTDMRepRules {
		if _, err := d.Token(); err != nil {
			return nil, errors.New("the JSON is broken: ignored")
		}
	}
	return f, nil
}

// reservation parses a value: only 0 and 1 count (formats §8.16).
func reservation(value string) Value {
	switch strings.Trim(value, " \t\r\n\f") {
	case "0":
		return Allow
	case "1":
		return Disallow
	}
	return Unknown
}

// find returns the first matching rule, in the order of the file.
func (f *TDMRep) find(url string) *tdmRule {
	t := newTarget(url)
	for i := range f.rules {
		if f.rules[i].match(t.path) {
			return &f.rules[i]
		}
	}
	return nil
}

// tdmPreferences returns the meaning of a reservation. 1 forbids mining and generative AI. 0 allows
// mining, and has no effect on the rest.
func tdmPreferences(reserved Value) (p Preferences) {
	p[TDM] = reserved
	if reserved == Disallow {
		p[AIInput], p[AITrain] = Disallow, Disallow
	}
	return p
}
