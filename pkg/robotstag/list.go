package robotstag

import (
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// asList reads a field value in the syntax of draft-illyes-repext-03, and reports whether it is one
// (formats §8.27): an RFC 9651 list of product tokens whose parameters are rules, such as
// "*;nosnippet, OtherBot;noindex". The whole value must be that, each member a token that is no
// rule's name with one parameter at least, each parameter a rule's name. Anything else is read as
// formats §4.1 has it, where a rule behind a semicolon is everybody's: what may be meant for us
// counts.
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

// parameter applies a rule that stands as a parameter. Of rules without a value any value is
// overlooked, as in formats §4.1.3.
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
