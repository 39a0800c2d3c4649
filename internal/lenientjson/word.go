package lenientjson

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c == '.' || c == '+' || c == '-'
}

func isNameByte(c byte) bool { return isWordByte(c) || c == '@' || c >= 0x80 }

// number reads a number. One that is no number of JSON is read as a word.
func (r *Reader) number() {
	from, out := r.at(), len(r.out)
	ok := true
	if r.buf[r.pos] == '-' {
		r.take()
	}
	if r.has(1) && r.buf[r.pos] == '0' {
		r.take()
	} else {
		ok = r.digits()
	}
	if ok && r.has(1) && r.buf[r.pos] == '.' {
		r.take()
		ok = r.digits()
	}
	if ok && r.has(1) && r.buf[r.pos]|0x20 == 'e' {
		if r.take(); r.has(1) && (r.buf[r.pos] == '+' || r.buf[r.pos] == '-') {
			r.take()
		}
		ok = r.digits()
	}
	switch {
	case ok && (!r.has(1) || !isWordByte(r.buf[r.pos])):
		r.ended(kindOther)
	case r.at()-from > maxWord: // it may be in memory no more
		if !isDigit(r.out[len(r.out)-1]) {
			r.put('0')
		}
		r.ended(kindOther)
		r.giveUpLast("a number that JSON does not know")
	default:
		r.pos = int(from - r.base)
		r.out = r.out[:out]
		r.word()
	}
}

// take copies one byte.
func (t *transcriber) take() {
	t.put(t.buf[t.pos])
	t.pos++
}

// digits copies digits, and reports whether there are any.
func (t *transcriber) digits() (some bool) {
	for t.has(1) && isDigit(t.buf[t.pos]) {
		t.take()
		some = true
	}
	return some
}

// words are values of other languages, in lower case.
var words = map[string]string{
	"true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null", "n/a": "null",
	"nan": "null", "-nan": "null", "infinity": "null", "-infinity": "null", "+infinity": "null", "inf": "null", "-inf": "null", "+inf": "null",
}

// date is a date without quotes, which no language reads as a number.
var date = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$`)

// word reads a value that is neither a text nor a list or an object.
func (r *Reader) word() {
	if end := r.prefixed(); end != "" {
		r.text(end)
		return
	}
	n := 0
	for n <= maxWord && r.has(n+1) && isWordByte(r.buf[r.pos+n]) {
		n++
	}
	w := string(r.buf[r.pos : r.pos+n])
	value, known := words[strings.ToLower(w)]
	switch {
	case w == "true" || w == "false" || w == "null":
	case n == 0:
		r.leave(found(r.buf[r.pos])+" where a value should be", false)
		return
	case n > maxWord:
		r.leave("a text without quotes", false)
		return
	case known:
		r.forgive(r.at(), w+" for a value")
	case date.MatchString(w):
		r.forgive(r.at(), "a date without quotes")
		value = `"` + w + `"`
	default:
		if value = oddNumber(w); value == "" {
			r.leave("a text without quotes", false)
			return
		}
		r.forgive(r.at(), "a number that JSON does not know")
	}
	r.out = append(r.out, value...)
	r.pos += n
	r.ended(kindOther)
}

// prefixed reads a prefix that Python has before a text, and the quote. It returns the quote, or ""
// if there is none.
func (t *transcriber) prefixed() string {
	if c := t.buf[t.pos] | 0x20; c != 'u' && c != 'b' && c != 'r' || !t.has(2) || t.buf[t.pos+1] != '"' && t.buf[t.pos+1] != '\'' {
		return ""
	}
	t.forgiveOnce(oncePython, "texts as Python writes them")
	end := string(t.buf[t.pos+1 : t.pos+2])
	t.pos += 2
	t.put('"')
	return end
}

// oddNumber returns a number of other languages as one of JSON, or "" if w is not a number.
func oddNumber(w string) string {
	sign := ""
	if rest, minus := strings.CutPrefix(w, "-"); minus {
		sign, w = "-", rest
	} else {
		w = strings.TrimPrefix(w, "+")
	}
	if hex, is := strings.CutPrefix(strings.ToLower(w), "0x"); is {
		v, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return ""
		}
		return sign + strconv.FormatUint(v, 10)
	}
	for len(w) > 1 && w[0] == '0' && isDigit(w[1]) {
		w = w[1:]
	}
	if strings.HasPrefix(w, ".") {
		w = "0" + w
	}
	if i := strings.IndexByte(w, '.'); i >= 0 && (i+1 == len(w) || !isDigit(w[i+1])) {
		w = w[:i] + w[i+1:]
	}
	if w == "" || !isDigit(w[0]) || !json.Valid([]byte(w)) {
		return ""
	}
	return sign + w
}
