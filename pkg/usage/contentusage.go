package usage

import (
	"fmt"

	"github.com/dunglas/httpsfv"
)

// MaxStatement is the longest statement, in bytes: a longer one is ignored (formats §8.13).
const MaxStatement = 8 << 10

// aipref has the labels of draft-ietf-aipref-vocab-08. All others are ignored.
var aipref = [...]struct {
	label   string
	purpose Purpose
}{{"search", Search}, {"ai-use", AIInput}, {"train-ai", AITrain}}

// ParseContentUsage parses a statement of draft-ietf-aipref-vocab-08 §6: an RFC 9651 dictionary
// whose values are the tokens y and n. If the statement is not a dictionary, it has no effect and
// an error is returned. A value other than y and n leaves its key unknown. If a key is repeated,
// the last one counts.
func ParseContentUsage(statement string) (p Preferences, err error) {
	if len(statement) > MaxStatement {
		return p, fmt.Errorf("the line is longer than 8 KiB: ignored")
	}
	d, err := httpsfv.UnmarshalDictionary([]string{statement})
	if err != nil {
		return p, fmt.Errorf("not a structured dictionary, so it is ignored: %w", err)
	}
	for _, a := range aipref {
		member, ok := d.Get(a.label)
		if !ok {
			continue
		}
		item, _ := member.(httpsfv.Item)
		switch token, _ := item.Value.(httpsfv.Token); token {
		case "y":
			p[a.purpose] = Allow
		case "n":
			p[a.purpose] = Disallow
		}
	}
	return p, nil
}
