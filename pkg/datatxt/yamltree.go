package datatxt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readTree reads one document. The line numbers in its errors are shifted by shift.
func readTree(text string, shift int) (root *yaml.Node, err error) {
	root, problem := unmarshal(text)
	if problem == nil {
		return root, nil
	}
	last := shift + 1 + countLines(text)
	if strings.Contains(problem.Error(), "undefined tag handle") {
		prologue, n := tagPrologue(text)
		if root, problem = unmarshal(prologue + text); problem == nil {
			renumber(root, -n)
			return root, nil
		}
		shift -= n
	}
	e := refusal(problem.Error(), shift)
	e.Line = min(e.Line, last) // the reader reports the end of the file as a separate line
	return nil, e
}

// refusal converts the reader's message to our error.
func refusal(message string, shift int) *Error {
	e := &Error{Err: ErrSyntax, Detail: unshield(strings.TrimPrefix(message, "yaml: "))}
	if rest, ok := strings.CutPrefix(e.Detail, "line "); ok {
		number, detail, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			if parserMessage.MatchString(detail) {
				n++ // in these messages the reader counts from 0
			}
			e.Line, e.Detail = max(0, n+shift), detail
		}
	}
	e.Detail = brief(e.Detail)
	if anchorMessage.MatchString(e.Detail) {
		e.Err = ErrAnchor
	}
	return e
}

// The error messages of go.yaml.in/yaml about the order of tokens, and about an alias without an
// anchor.
var (
	parserMessage = regexp.MustCompile(`^did not find expected (key|'-'|',' or|node content|<)|^found undefined tag handle`)
	anchorMessage = regexp.MustCompile(`^unknown anchor|^did not find expected alphabetic or numeric`)
)

// unmarshal returns the root node of a document.
func unmarshal(text string) (root *yaml.Node, err error) {
	// The file is untrusted and the reader is not ours: if it panics, only this file is lost.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, fmt.Errorf("yaml: no document")
	}
	return doc.Content[0], nil
}
