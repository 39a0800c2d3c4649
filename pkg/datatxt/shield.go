package datatxt

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The YAML reader refuses a whole file for one control character, and ends lines at U+0085, U+2028
// and U+2029, which do not end lines for us (formats §0). So these characters are replaced before
// reading: by shieldMark and a private character. A byte order mark inside a file, which the reader
// would drop at the beginning of a line, and shieldMark itself are replaced in the same way, so
// that every text comes back unchanged.
const (
	shieldMark = '\uF8FF'
	shieldBase = 0xE000 // plus the character, if below 0x100
)

// shielded lists the characters from 0x100 on that must be replaced. Their replacement is their
// index here.
var shielded = [...]rune{shieldMark, '\u2028', '\u2029', '\uFEFF', '\uFFFE', '\uFFFF'}

// disguise returns the character that replaces r after the mark.
func disguise(r rune) (rune, bool) {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || ' ' <= r && r < 0x7F:
		return 0, false
	case r < 0xA0:
		return shieldBase + r, true
	}
	for i, s := range shielded {
		if r == s {
			return shieldBase + 0x100 + rune(i), true
		}
	}
	return 0, false
}

func shield(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { _, ok := disguise(r); return ok }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if d, ok := disguise(r); ok {
			b.WriteRune(shieldMark)
			r = d
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unshield reverses shield in a text from the reader. A mark that comes from a quoted escape
// ("\uF8FF") stays, unless the character after it happens to be a replacement.
func unshield(s string) string {
	if !strings.ContainsRune(s, shieldMark) {
		return s
	}
	var b strings.Builder
	marked := false
	for _, r := range s {
		if marked {
			marked = false
			switch i := r - shieldBase - 0x100; {
			case shieldBase <= r && r < shieldBase+0xA0:
				r -= shieldBase
			case 0 <= i && int(i) < len(shielded):
				r = shielded[i]
			default:
				b.WriteRune(shieldMark)
				if r == shieldMark {
					marked = true
					continue
				}
			}
		} else if r == shieldMark {
			marked = true
			continue
		}
		b.WriteRune(r)
	}
	if marked {
		b.WriteRune(shieldMark)
	}
	return b.String()
}

// Tags are never evaluated, so the meaning of a handle like the "!e!" in "!e!name" does not matter.
// But the reader refuses undeclared handles. maxHandles is how many handles we declare.
const maxHandles = 64

var tagHandle = regexp.MustCompile(`![0-9A-Za-z_-]+!`)

// tagPrologue declares every tag handle in a text and returns the number of lines of these
// declarations.
func tagPrologue(text string) (prologue string, n int) {
	var b strings.Builder
	known := map[string]bool{}
	for at := 0; len(known) < maxHandles; {
		loc := tagHandle.FindStringIndex(text[at:])
		if loc == nil {
			break
		}
		handle := text[at+loc[0] : at+loc[1]]
		if !known[handle] {
			known[handle] = true
			fmt.Fprintf(&b, "%%TAG %s tag:%s\n", handle, strings.Trim(handle, "!"))
		}
		at += loc[1] - 1 // its last "!" may begin the next one
	}
	b.WriteString("---\n")
	return b.String(), len(known) + 1
}

// renumber shifts the line of every node. It cannot loop, because it does not follow aliases, which
// could lead back.
func renumber(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		renumber(c, by)
	}
}
