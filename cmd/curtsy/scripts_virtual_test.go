package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/curtsy/curtsy/internal/testaid"
)

// TestVirtualScripts runs the scripts in testdata/virtual: each in a bubble, its commands in this
// process. They are in the language of TestScripts, of which they may use stdin, stdout, stderr,
// exists, grep, rm, env, simweb, exits and idof, and files after the script. "prints FILE" compares
// all of standard output.
func TestVirtualScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/virtual/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				dir := t.TempDir()
				t.Chdir(dir)
				t.Setenv("HOME", dir)
				s := script{t: t, env: map[string]string{}}
				archive := txtar.Parse(text)
				for _, f := range archive.Files {
					if exactly.Match(f.Data) {
						t.Fatalf("%s: %s expects a run of exactly %s; when a run has ended depends on which goroutine runs first: write [..]",
							file, f.Name, exactly.Find(f.Data))
					}
					if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for i, line := range strings.Split(string(archive.Comment), "\n") {
					if words := s.words(line); len(words) > 0 {
						if err := s.do(words); err != nil {
							t.Fatalf("%s:%d: %s: %v\nstdout:\n%s\nstderr:\n%s", file, i+1, line, err, &s.stdout, &s.stderr)
						}
					}
				}
			})
		})
	}
}

// exactly is a time that a whole run took, to the second.
var exactly = regexp.MustCompile(`ended .* after (\d+[hms])+,`)

// script is one that runs, and what its last command printed.
type script struct {
	t              *testing.T
	env            map[string]string
	stdin          string // of the next command
	stdout, stderr bytes.Buffer
}

// words splits a line as testscript does: 'quoted' is taken as it is, $NAME is replaced, and # ends
// the line.
func (s *script) words(line string) (words []string) {
	var word strings.Builder
	begun, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && quoted && strings.HasPrefix(line[i+1:], "'"):
			word.WriteByte(c)
			i++
		case c == '\'':
			begun, quoted = true, !quoted
		case quoted:
			word.WriteByte(c)
		case c == '#':
			line = line[:i]
		case c == ' ' || c == '\t':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		case c == '$':
			name := regexp.MustCompile(`^\w*`).FindString(line[i+1:])
			word.WriteString(s.env[name])
			begun, i = true, i+len(name)
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// do runs one line.
func (s *script) do(words []string) error {
	negated := words[0] == "!"
	if negated {
		words = words[1:]
	}
	verb, args := words[0], words[1:]
	is := func(ok bool) error {
		if ok == negated {
			return fmt.Errorf("it is %v", ok)
		}
		return nil
	}
	switch verb {
	case "simweb":
		web := startWeb(s.t, scriptWeb(args))
		s.env["SEED"], s.env["RESOLVE"] = web.Seeds()[0], web.Resolve()
	case "exits":
		return s.exits(args[0], args[1:])
	case "idof":
		if err := s.exits("0", []string{"curtsy", "datasets", "--json"}); err != nil {
			return err
		}
		id, err := datasetID(s.stdout.String(), args[0])
		s.env["ID"] = id
		return err
	case "stdin":
		text, err := os.ReadFile(args[0])
		s.stdin = string(text)
		return err
	case "stdout":
		return s.matches(negated, args, s.stdout.Bytes())
	case "prints":
		return s.prints(args[0])
	case "stderr":
		return s.matches(negated, args, s.stderr.Bytes())
	case "exists":
		_, err := os.Stat(args[0])
		return is(err == nil)
	case "rm":
		return os.RemoveAll(args[0])
	case "env":
		name, value, _ := strings.Cut(args[0], "=")
		s.t.Setenv(name, value)
	case "grep":
		text, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			return err
		}
		return s.matches(negated, args[:len(args)-1], text)
	default:
		return fmt.Errorf("no such verb")
	}
	return nil
}

// prints compares the standard output of the last command with a file (see package expected).
func (s *script) prints(name string) error {
	want, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if diff := testaid.OutputDiff(string(want), s.stdout.String()); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// matches compares a text with an expression. With -count=N before it there must be N matches,
// otherwise at least one; if negated, none.
func (s *script) matches(negated bool, args []string, text []byte) error {
	count, counted := strings.CutPrefix(args[0], "-count=")
	if counted {
		args = args[1:]
	}
	n := len(regexp.MustCompile("(?m)"+args[0]).FindAll(text, -1))
	if counted && strconv.Itoa(n) != count || !counted && (n > 0) == negated {
		return fmt.Errorf("%d matches", n)
	}
	return nil
}

// exits runs a command that must exit with a code.
func (s *script) exits(code string, command []string) error {
	s.stdout.Reset()
	s.stderr.Reset()
	if command[0] != "curtsy" {
		return fmt.Errorf("only curtsy can be run")
	}
	got := runs(s.t, s.t.Context(), command[1:], strings.NewReader(s.stdin), &s.stdout, &s.stderr)
	s.stdin = ""
	if strconv.Itoa(got) != code {
		return fmt.Errorf("exit code %d", got)
	}
	return nil
}
