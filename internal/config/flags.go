package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
	"github.com/spf13/pflag"
)

// textFlag is a flag that checks whether the typed text can be read, and keeps the text. Load fills
// the struct later from all sources.
type textFlag struct {
	text  string
	kind  string
	check func(string) error
}

func (t *textFlag) String() string { return t.text }
func (t *textFlag) Type() string   { return t.kind }
func (t *textFlag) Set(s string) error {
	if err := t.check(s); err != nil {
		return err
	}
	t.text = s
	return nil
}

// quotes turns ‹› into what pflag takes for the name of a value.
var quotes = strings.NewReplacer("‹", "`", "›", "`")

// register adds the flag of f to flags. A word in ‹› in the usage becomes the name of its value.
func register(flags *pflag.FlagSet, f field) {
	usage := quotes.Replace(f.usage)
	switch v := f.value.Interface().(type) {
	case bool:
		flags.Bool(f.flag, v, usage)
	case settings.Off:
		flags.Bool(f.flag, !bool(v), usage)
	case []string:
		flags.StringArray(f.flag, v, usage)
	default:
		flags.Var(&textFlag{text: f.text(), kind: f.value.Type().Name(), check: f.readable}, f.flag, usage)
	}
	describe(flags.Lookup(f.flag), f)
}

// readable returns nil if text can be a value of f, and otherwise an error that
// names a value that can.
func (f field) readable(text string) error {
	var err error
	switch v := reflect.New(f.value.Type()).Interface().(type) {
	case *time.Duration:
		*v, err = parseDuration(text)
	case *Size:
		err = v.UnmarshalText([]byte(text))
	case *settings.Sites:
		if *v, err = settings.ReadSites(text); err != nil {
			return err // it says what to change in the file
		}
	case *int, *int64:
		if _, e := strconv.ParseInt(text, 10, 64); e != nil {
			err = errors.New("is not a whole number")
		}
	case *float64:
		if _, e := strconv.ParseFloat(text, 64); e != nil {
			err = errors.New("is not a number")
		}
	case *bool, *settings.Off:
		if _, e := strconv.ParseBool(text); e != nil {
			err = errors.New("is neither true nor false")
		}
	}
	if err != nil {
		return fmt.Errorf("%w; use for example %s", err, f.try())
	}
	return nil
}

// try is a value that would be accepted.
func (f field) try() string {
	if f.example != "" {
		return f.example
	}
	if t := f.text(); t != "" {
		return t
	}
	return `""`
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err == nil:
		return d, nil
	case strings.Contains(err.Error(), "missing unit"):
		return 0, errors.New("has no unit (ms, s, m, h)")
	default:
		return 0, errors.New("is not a time with its unit (ms, s, m, h)")
	}
}
