package usage

import "strings"

// ParseContentSignal reads a statement of Cloudflare's content signals policy, such as "search=yes,
// ai-train=no" (formats §8.11). The values are yes, y, allow and no, n, disallow in any case; "use"
// takes immediate, reference and full. Between pairs stand commas, semicolons or blanks. Of a key
// said twice the strictest counts. ignored has the pairs that say nothing to us, 16 at most. A
// statement over MaxStatement says nothing.
func ParseContentSignal(statement string) (p Preferences, ignored []string) {
	if len(statement) > MaxStatement {
		return p, []string{"the line is longer than 8 KiB"}
	}
	for s := statement; ; {
		s = strings.TrimLeft(s, " \t,;")
		if s == "" {
			return p, ignored
		}
		var key, value string
		key, s = cutAny(s, "=,; \t")
		if rest := strings.TrimLeft(s, " \t"); rest != "" && rest[0] == '=' {
			value, s = cutAny(strings.TrimLeft(rest[1:], " \t"), ",; \t")
		}
		said, ok := signal(lower(key), lower(value))
		if !ok && len(ignored) < 16 {
			ignored = append(ignored, key+"="+value)
		}
		p = p.Merge(said)
	}
}

// signal says what one pair means.
func signal(key, value string) (p Preferences, ok bool) {
	if key == "use" {
		switch value {
		case "immediate": // nothing is retained
			p[Search], p[AIInput], p[AITrain] = Disallow, Disallow, Disallow
		case "reference": // index, excerpt, link, cite
			p[AITrain] = Disallow
		case "full": // sets no limit, and grants nothing of the rest
		default:
			return p, false
		}
		return p, true
	}
	var v Value
	switch value {
	case "yes", "y", "allow":
		v = Allow
	case "no", "n", "disallow":
		v = Disallow
	default:
		return p, false
	}
	switch key {
	case "search":
		p[Search] = v
	case "ai-input":
		p[AIInput] = v
	case "ai-train":
		p[AITrain] = v
	default:
		return p, false
	}
	return p, true
}

// cutAny splits s before the first byte of ends.
func cutAny(s, ends string) (head, rest string) {
	if i := strings.IndexAny(s, ends); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// lower returns s with ASCII letters in lower case: names here are ASCII (formats §0).
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}
