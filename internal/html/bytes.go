package html

import "bytes"

// IsSpace reports whether a byte is white space between attributes and between words of a value.
func IsSpace(c byte) bool { return space[c] }

// space is a table because most bytes of a tag are tested, and most are none of the five.
var space = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '\f': true}

// IsLetter reports whether a byte is a letter of ASCII.
func IsLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// IsDigit reports whether a byte is a digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsAlnum reports whether a byte is a letter of ASCII or a digit.
func IsAlnum(c byte) bool { return IsLetter(c) || IsDigit(c) }

// Is compares a name or a word, ignoring the case of ASCII letters. lower is in lower case.
func Is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// HasWord reports whether a value that is a list of words, such as rel, has one of the words, which
// are in lower case.
func HasWord(list []byte, words ...string) bool {
	for word := range bytes.FieldsSeq(list) {
		for _, w := range words {
			if Is(word, w) {
				return true
			}
		}
	}
	return false
}
