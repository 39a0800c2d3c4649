package robotstag

import (
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// asList parses a field value in the syntax of draft-illyes-repext-03, and reports whether it has
// this syntax (formats §8.27): an RFC 9651 list of product tokens whose parameters are rules, such
// as "*;nosnippet, OtherBot;noindex". The whole value must have this form: each member is a token
// that is not the name of a rule, with at least one parameter, and each parameter is the name of a
// rule. Any other value is parsed by formats §4.1, where a rule after a semicolon applies to
// everybody: a rule that may be meant for us counts.
func (p *parser) asList(value string) bool {
	if p.cut || strings.IndexByte(value, ';') < 0 {
		return false
	}
	list, err := httpsfv.UnmarshalList([]string{value})
	if err != nil || len(list) == 0 {
		return false
	}
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			return false
		}
		token, ok := item.Value.(httpsfv.Token)
		if _, kind := lookup(string(token)); !ok || kind != noRule || len(item.Params.Names()) == 0 {
			return false
		}
		for _, name := range item.Params.Names() {
			if _, kind := lookup(name); kind == noRule {
				return false
			}
		}
	}
	for _, member := range list {
		item := member.(httpsfv.Item)
		token := string(item.Value.(httpsfv.Token))
		everybody, own := addressee(token, p.set.token)
		everybody = everybody || token == "*"
		p.own, p.other = own && !everybody, !own && !everybody
		for _, name := range item.Params.Names() {
			v, _ := item.Params.Get(name)
			p.parameter(name, v)
		}
	}
	return true
}

// parameter applies a rule in the form of a parameter. For rules without a value, any value is
// ignored, as in formats §4.1.3.
func (p *parser) parameter(name string, value any) {
	switch name {
	case "max-snippet":
		switch n, ok := value.(int64); {
		case ok && n == 0:
			p.ask("nosnippet")
		case ok && n > 0:
			p.askFor(Rule{Name: name, Limit: int(min(n, maxCount))})
		case !ok || n != -1:
			p.diagnose(name, "max-snippet is not a number")
		}
	case "unavailable_after":
		switch v := value.(type) {
		case time.Time:
			p.askFor(Rule{Name: name, Until: v})
		case string:
			p.unavailable(v, false)
		default:
			p.diagnose(name, "the date cannot be read")
		}
	default:
		p.rule(name)
	}
}
