package webtext

import "strings"

// ShellWord quotes a word of a command that a person copies into a shell, so that the shell reads
// it unchanged as one word. It removes what Clean removes, because with a line break or a reversed
// direction the command would not be the one that the person sees. Words without a meaning for a
// shell are not quoted, so that most commands look as a person would type them.
func ShellWord(word string) string {
	word = Clean(word)
	if word != "" && strings.Trim(word, shellPlain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellPlain are the characters without a meaning for any shell anywhere in a word. A tilde, an
// equals sign and a hash are not among them, because they have a meaning at the beginning of a
// word.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./_-"
