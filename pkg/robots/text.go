package robots

// These formats use ASCII: names ignore case in ASCII only, and blanks are SP and HT. The strings
// package would also fold a long s and trim a no-break space, so these functions do not use it.

// trim removes SP and HT from both ends.
func trim(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// cutWord returns s up to its first blank, and the rest without the blanks between.
func cutWord(s string) (word, rest string) {
	for i := range len(s) {
		if isBlank(s[i]) {
			return s[:i], trim(s[i:])
		}
	}
	return s, ""
}

// equalFold compares ignoring the case of ASCII letters.
func equalFold(s, t string) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range len(s) {
		if s[i] != t[i] && lowerByte(s[i]) != lowerByte(t[i]) {
			return false
		}
	}
	return true
}

// lower returns s with ASCII letters in lower case, and s itself if it has no others.
func lower(s string) string {
	for i := range len(s) {
		if lowerByte(s[i]) == s[i] {
			continue
		}
		b := []byte(s)
		for ; i < len(b); i++ {
			b[i] = lowerByte(b[i])
		}
		return string(b)
	}
	return s
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isEOL(c byte) bool    { return c == '\n' || c == '\r' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}
