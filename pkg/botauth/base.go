package botauth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Message is a signed message: a request, or a response to one.
type Message struct {
	Method    string
	Scheme    string // https or http
	Authority string // as in the Host field, or in :authority
	Path      string // as sent, without the query
	Query     string // as sent, without the question mark
	Header    http.Header
	Status    int      // of a response; 0: this is a request
	Request   *Message // the request of a response; nil for a request
}

const (
	maxField      = 8 << 10 // bytes of a field that is used for a signature
	maxSignatures = 16      // of one message
	maxComponents = 64      // of one signature
	maxValue      = 64 << 10
)

// Authority returns the value of a Host field in the form of @authority: in lower case, without the
// scheme's default port (RFC 9421 §2.2.3).
func Authority(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

// base returns the text that is signed (RFC 9421 §2.5).
func base(m *Message, covered httpsfv.InnerList) (string, error) {
	if len(covered.Items) > maxComponents {
		return "", fmt.Errorf("it covers more than %d components", maxComponents)
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, item := range covered.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return "", err
		}
		if seen[id] {
			return "", fmt.Errorf("it covers %s more than once", id)
		}
		seen[id] = true
		value, err := componentValue(m, item)
		if err != nil {
			return "", fmt.Errorf("%s: %w", id, err)
		}
		if strings.ContainsAny(value, "\r\n") {
			return "", fmt.Errorf("%s: its value contains a line break", id)
		}
		if b.Len()+len(value) > maxValue {
			return "", errors.New("the signature base is too long")
		}
		b.WriteString(id)
		b.WriteString(": ")
		b.WriteString(value)
		b.WriteByte('\n')
	}
	params, err := httpsfv.Marshal(covered)
	if err != nil {
		return "", err
	}
	b.WriteString(`"@signature-params": `)
	b.WriteString(params)
	return b.String(), nil
}

// componentValue returns a message's value of a covered component.
func componentValue(m *Message, item httpsfv.Item) (string, error) {
	name, ok := item.Value.(string)
	if !ok {
		return "", errors.New("the name of a component must be a String")
	}
	var how fieldReading
	queryName := ""
	for _, p := range item.Params.Names() {
		v, _ := item.Params.Get(p)
		switch p {
		case "req":
			if v != true || m.Request == nil {
				return "", errors.New(";req is only for a response to a request")
			}
			m = m.Request
		case "sf", "bs":
			if v != true {
				return "", fmt.Errorf(";%s is a flag and has no value", p)
			}
			how.structured = how.structured || p == "sf"
			how.binary = how.binary || p == "bs"
		case "key":
			if how.key, ok = v.(string); !ok {
				return "", errors.New(";key must be a String")
			}
			how.keyed = true
		case "name":
			if queryName, ok = v.(string); !ok || name != "@query-param" {
				return "", errors.New(";name must be a String and is only for @query-param")
			}
		default: // also ;tr, because trailers are not kept
			return "", fmt.Errorf("parameter %s is unknown", p)
		}
	}
	if how.binary && (how.structured || how.keyed) {
		return "", errors.New(";bs cannot be combined with ;sf or ;key")
	}
	if strings.HasPrefix(name, "@") {
		if how != (fieldReading{}) {
			return "", errors.New("it is not a header field")
		}
		return derived(m, name, queryName)
	}
	return fieldValue(m.Header, name, how)
}

// derived returns the value of a derived component (RFC 9421 §2.2).
func derived(m *Message, name, queryName string) (string, error) {
	if name == "@status" {
		if m.Status == 0 {
			return "", errors.New("a request does not have it")
		}
		return strconv.Itoa(m.Status), nil
	}
	if m.Status != 0 {
		return "", errors.New("a response does not have it; add ;req")
	}
	path := m.Path
	if path == "" {
		path = "/"
	}
	target := path
	if m.Query != "" {
		target += "?" + m.Query
	}
	switch name {
	case "@method":
		return m.Method, nil
	case "@authority":
		return Authority(m.Scheme, m.Authority), nil
	case "@scheme":
		return strings.ToLower(m.Scheme), nil
	case "@path":
		return path, nil
	case "@query":
		return "?" + m.Query, nil
	case "@request-target":
		return target, nil
	case "@target-uri":
		return m.Scheme + "://" + m.Authority + target, nil
	case "@query-param":
		return queryParam(m.Query, queryName)
	}
	return "", errors.New("there is no such component")
}

// queryParam returns the value of the only parameter with this name. The name and the value are
// decoded and encoded again (RFC 9421 §2.2.8).
func queryParam(query, name string) (value string, err error) {
	found := false
	for pair := range strings.SplitSeq(query, "&") {
		k, v, _ := strings.Cut(pair, "=")
		if formEncode(k) != name {
			continue
		}
		if found {
			return "", errors.New("the query has it more than once")
		}
		found, value = true, formEncode(v)
	}
	if !found {
		return "", errors.New("the query does not have it")
	}
	return value, nil
}

// formEncode encodes a part of a query in its canonical form.
func formEncode(part string) string {
	if decoded, err := url.QueryUnescape(part); err == nil {
		part = decoded
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(part) {
		switch c := part[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("*-._", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(string([]byte{'%', hex[c>>4], hex[c&15]}))
		}
	}
	return b.String()
}

// fieldReading defines how a field becomes a component's value.
type fieldReading struct {
	structured, binary, keyed bool
	key                       string
}

// fieldValue returns the value of a header field (RFC 9421 §2.1).
func fieldValue(h http.Header, name string, how fieldReading) (string, error) {
	if name != strings.ToLower(name) {
		return "", errors.New("the name of a header field must be in lower case")
	}
	var lines []string
	for field, values := range h {
		if strings.EqualFold(field, name) {
			lines = append(lines, values...)
		}
	}
	if len(lines) == 0 {
		return "", errors.New("the message does not have this header field")
	}
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(line, "\r\n", " "), "\n", " "))
	}
	switch {
	case how.binary:
		for i, line := range lines {
			lines[i] = ":" + base64.StdEncoding.EncodeToString([]byte(line)) + ":"
		}
	case how.keyed:
		d, err := dictionary(lines)
		if err != nil {
			return "", fmt.Errorf("it is not a Dictionary: %w", err)
		}
		member, ok := d.Get(how.key)
		if !ok {
			return "", errors.New("it does not have this member")
		}
		return httpsfv.Marshal(member)
	case how.structured:
		// The kind of the field is not known, so it is the first kind that can be parsed.
		if d, err := dictionary(lines); err == nil {
			return httpsfv.Marshal(d)
		}
		if l, err := httpsfv.UnmarshalList(lines); err == nil {
			return httpsfv.Marshal(l)
		}
		return "", errors.New("it is not a structured field")
	}
	return strings.Join(lines, ", "), nil
}

// dictionary parses the lines of a field, whose length is limited.
func dictionary(lines []string) (*httpsfv.Dictionary, error) {
	n := 0
	for _, line := range lines {
		n += len(line) + 2
	}
	if n > maxField {
		return nil, fmt.Errorf("it is longer than %d bytes", maxField)
	}
	return httpsfv.UnmarshalDictionary(lines)
}
