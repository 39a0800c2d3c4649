package datatxt

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The YAML reader refuses a whole file for one control character, and ends
// lines at U+0085, U+2028 and U+2029, which end no line for us (formats §0). So
// those characters travel through it in disguise: as shieldMark and a private
// character that stands for them. A byte order mark inside a file, which the
// reader would swallow at the start of a line, and shieldMark itself go the
// same way, so that every text comes back as it was.
const (
	shieldMark = '\uF8FF'
	shieldBase = 0xE000 // plus the character, if below 0x100
)

// shielded lists the characters from 0x100 on that need it; they are disguised
// by their index here.
var shielded = [...]rune{shieldMark, '\u2028', '\u2029', '\uFEFF', '\uFFFE', '\uFFFF'}

// disguise returns what stands for r behind the mark.
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

// unshield undoes shield in a text that came out of the reader. A mark that a
// quoted escape ("\uF8FF") brought in stays as it is, unless what follows it
// happens to be a disguise.
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

// Tags are never evaluated, so it does not matter what a handle like the "!e!" in "!e!name" stands
// for. But the reader refuses handles that are not declared. maxHandles bounds how many we declare.
const maxHandles = 64

var tagHandle = regexp.MustCompile(`![0-9A-Za-z_-]+!`)

// tagPrologue declares every tag handle in a text and returns the number of
// lines that takes.
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
		at += loc[1] - 1 // its last "!" may begin the next
	}
	b.WriteString("---\n")
	return b.String(), len(known) + 1
}

// renumber moves the line of every node. It cannot loop: aliases, which could lead
// back, are not followed.
func renumber(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		renumber(c, by)
	}
}
