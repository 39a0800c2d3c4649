package webtext

import "strings"

// ShellWord writes a word of a command that a person copies into a shell: the shell takes it as one
// word, as it is, and as nothing else. What Clean takes away is not in it, since a line break or a
// turned direction would make another command of what is seen. Words that mean nothing to a shell
// stay without quotes, so that most commands read as one would type them.
func ShellWord(word string) string {
	word = Clean(word)
	if word != "" && strings.Trim(word, shellPlain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellPlain are the characters that mean themselves to every shell wherever they stand. A tilde,
// an equals sign and a hash mean something at the beginning of a word only, and are left out.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./_-"
