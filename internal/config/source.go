package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix begins the name of each of our environment variables.
const envPrefix = "CURTSY"

// Error is an error in what the operator wrote. Commands exit with 2 for it.
type Error struct{ text string }

// Error says what is wrong, where the value was set, and what would be accepted.
func (e *Error) Error() string { return e.text }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Errorf returns an error in what the operator wrote.
func Errorf(format string, args ...any) error { return refuse(format, args...) }

// checker is a struct that can check its values.
type checker interface{ check(*Source) error }

// Source reads the settings of one command from flags, environment and file.
type Source struct {
	flags  *pflag.FlagSet
	into   any
	fields []field
	file   *file // nil: none was named
}

// Bind registers a flag for every setting of the struct that into points to. The present values are
// the defaults. Load then fills the struct.
func Bind(flags *pflag.FlagSet, into any) *Source {
	s := &Source{flags: flags, into: into, fields: fieldsOf(into)}
	flags.SortFlags = false // the structs list the most important settings first
	for _, f := range s.fields {
		if f.flag != "" {
			register(flags, f)
		}
	}
	return s
}

// Load fills the struct given to Bind from the parsed flags, the environment, the file and the
// defaults, and checks it.
func (s *Source) Load() error {
	if err := checkEnviron(os.Environ()); err != nil {
		return err
	}
	v := viper.NewWithOptions(
		// No key has a dot yet. A key that names a host would have one, and "::" cannot be part of
		// it.
		viper.KeyDelimiter("::"),
		viper.EnvKeyReplacer(strings.NewReplacer("::", "_", "-", "_")),
	)
	v.SetEnvPrefix(envPrefix)
	v.AutomaticEnv()
	for _, f := range s.fields {
		v.SetDefault(f.key, f.value.Interface())
		if f.flag != "" {
			if err := v.BindPFlag(f.key, s.flags.Lookup(f.flag)); err != nil {
				return err
			}
		}
	}
	if name := v.GetString("config"); name != "" {
		f, err := readFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return refuse("%s: %v; to make one: echo 'max-pages: 500' > %s", strings.TrimPrefix(s.Origin("config"), "from "), err, webtext.ShellWord(name))
		} else if err != nil {
			return refuse("%v", err)
		}
		s.file = f
		if err := v.MergeConfigMap(f.settings(s.fields)); err != nil {
			return err
		}
	}
	if err := v.MergeConfigMap(dashedEnviron(s.fields)); err != nil { // overrides the file
		return err
	}
	if err := s.decode(v); err != nil {
		return err
	}
	if c, ok := s.into.(checker); ok {
		return c.check(s)
	}
	return nil
}

// dashedEnviron returns the settings in environment variables whose names contain "-".
func dashedEnviron(fields []field) map[string]any {
	m := map[string]any{}
	for _, f := range fields {
		name := dashedEnvName(f.key)
		if value := os.Getenv(name); value != "" && name != envName(f.key) {
			m[f.key] = value
		}
	}
	return m
}

// decode fills the fields one by one, so that an error can name its field.
func (s *Source) decode(v *viper.Viper) error {
	for _, f := range s.fields {
		raw, value := v.Get(f.key), reflect.New(f.value.Type())
		dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: value.Interface(), WeaklyTypedInput: true, DecodeHook: conversions})
		if err != nil {
			return err
		}
		if dec.Decode(raw) == nil {
			f.value.Set(value.Elem())
			continue
		}
		why := f.readable(fmt.Sprint(raw))
		if why == nil {
			why = fmt.Errorf("is not a %s; use for example %s", f.value.Type().Name(), f.try())
		}
		return refuse("%s %v", s.typed(f.key, s.show(f, raw)), why)
	}
	return nil
}

func (s *Source) show(f field, raw any) string {
	if f.value.Type() == reflect.TypeFor[Secret]() {
		return masked
	}
	return fmt.Sprint(raw)
}

// conversions convert what viper found to the type of a field.
var conversions = mapstructure.ComposeDecodeHookFunc(
	func(from, to reflect.Type, data any) (any, error) {
		switch {
		case to == reflect.TypeFor[time.Duration]() && from != to:
			// viper would read a bare number in YAML as nanoseconds. So numbers are read like text,
			// and only 0 needs no unit.
			return parseDuration(fmt.Sprint(data))
		case to == reflect.TypeFor[Size]() && from != to:
			var size Size
			err := size.UnmarshalText([]byte(fmt.Sprint(data)))
			return size, err
		case to == reflect.TypeFor[[]string]() && from.Kind() == reflect.String:
			return strings.Fields(data.(string)), nil // the environment: words
		case to.Kind() == reflect.Bool && from.Kind() != reflect.Bool && from.Kind() != reflect.String:
			return nil, errors.New("is neither true nor false")
		case to == reflect.TypeFor[settings.Sites]() && from != to:
			return settings.ReadSites(fmt.Sprint(data))
		case to == reflect.TypeFor[settings.Off]() && from != to:
			on, err := strconv.ParseBool(fmt.Sprint(data))
			return settings.Off(!on), err
		}
		return data, nil
	},
)

// Given reports whether a flag, the environment or the file sets key.
func (s *Source) Given(key string) bool { return s.Origin(key) != "default" }

// Origin names what sets the value of key, for errors.
func (s *Source) Origin(key string) string {
	for _, f := range s.fields {
		if f.key == key && f.flag != "" && s.flags.Lookup(f.flag).Changed {
			return "from --" + f.flag
		}
	}
	for _, name := range []string{envName(key), dashedEnvName(key)} {
		if os.Getenv(name) != "" {
			return "from " + name
		}
	}
	if s.file != nil {
		if line, ok := s.file.lines[key]; ok {
			return fmt.Sprintf("from %s line %d", s.file.name, line)
		}
	}
	return "default"
}

// typed returns a setting with its value and origin, in the form in which the origin has them.
func (s *Source) typed(key, value string) string {
	switch origin := s.Origin(key); {
	case strings.HasPrefix(origin, "from --"):
		return fmt.Sprintf("%s %q", strings.TrimPrefix(origin, "from "), value)
	case strings.HasPrefix(origin, "from "+envPrefix):
		return fmt.Sprintf("%s=%q", strings.TrimPrefix(origin, "from "), value)
	case strings.HasPrefix(origin, "from "):
		return fmt.Sprintf("%s: %s: %q", strings.TrimPrefix(origin, "from "), key, value)
	}
	return s.flagOf(key)
}

// flagOf returns the flag that sets key, or key itself if it has no flag.
func (s *Source) flagOf(key string) string {
	for _, f := range s.fields {
		if f.key == key && f.flag != "" {
			return "--" + f.flag
		}
	}
	return key
}

// Refuse returns an error about the value of key. problem says what is wrong with it and what would
// be accepted.
func (s *Source) Refuse(key, problem string) error {
	for _, f := range s.fields {
		if f.key == key {
			return refuse("%s %s", s.typed(key, f.text()), problem)
		}
	}
	return refuse("%s: %s", key, problem)
}

// refuseSecretly is Refuse for a value that may contain a secret. The error does not show it.
func (s *Source) refuseSecretly(key, problem string) error {
	from := strings.TrimPrefix(s.Origin(key), "from ")
	if from != "default" && !strings.HasPrefix(from, "--") && !strings.HasPrefix(from, envPrefix) {
		return refuse("%s: %s %s", from, key, problem)
	} else if from == "default" {
		from = s.flagOf(key)
	}
	return refuse("%s %s", from, problem)
}

// refuseOther returns an error if the value of key is not one of its choices. what says what the
// value is not.
func (s *Source) refuseOther(key, what string) error {
	for _, f := range s.fields {
		if f.key != key || slices.Contains(f.choices, f.text()) {
			continue
		}
		hint := ""
		if n := Nearest(f.text(), f.choices); n != "" {
			hint = " (did you mean " + n + "?)"
		}
		return s.Refuse(key, what+"; use "+orWords(f.choices)+hint)
	}
	return nil
}

// Choices returns the words for shell completion by the names of flags. It leaves out flags that
// accept anything.
func (s *Source) Choices() map[string][]string {
	all := map[string][]string{}
	for _, f := range s.fields {
		if words := append(slices.Clip(f.choices), f.words...); f.flag != "" && len(words) > 0 {
			all[f.flag] = words
		}
	}
	return all
}

// checkEnviron refuses environment variables that have our prefix and are not settings.
func checkEnviron(environ []string) error {
	known := map[string]bool{}
	var names []string
	for _, k := range Keys() {
		known[envName(k)], known[dashedEnvName(k)] = true, true
		names = append(names, envName(k))
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, envPrefix+"_") || known[name] || value == "" {
			continue // an empty variable counts as not set
		}
		hint := "unset it"
		if n := Nearest(name, names); n != "" {
			hint = "did you mean " + n + "?"
		}
		return refuse("%s (in the environment) is not a setting of Curtsy; %s", name, hint)
	}
	return nil
}
