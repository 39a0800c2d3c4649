package usage

import "strings"

// ParseContentSignal parses a statement of Cloudflare's content signals policy, such as
// "search=yes, ai-train=no" (formats §8.11). The values are yes, y, allow and no, n, disallow in
// any case; "use" has the values immediate, reference and full. Pairs are separated by commas,
// semicolons or blanks. If a key occurs twice, the strictest value counts. ignored has the pairs
// without effect, at most 16. A statement longer than MaxStatement has no effect.
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
		stated, ok := signal(lower(key), lower(value))
		if !ok && len(ignored) < 16 {
			ignored = append(ignored, key+"="+value)
		}
		p = p.Merge(stated)
	}
}

// signal returns the meaning of one pair.
func signal(key, value string) (p Preferences, ok bool) {
	if key == "use" {
		switch value {
		case "immediate": // nothing is retained
			p[Search], p[AIInput], p[AITrain] = Disallow, Disallow, Disallow
		case "reference": // index, excerpt, link, cite
			p[AITrain] = Disallow
		case "full": // no limit, but no permission for the other purposes either
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

// lower returns s with ASCII letters in lower case, because names here are ASCII (formats §0).
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}
