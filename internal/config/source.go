package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix begins the name of each of our environment variables.
const envPrefix = "CURTSY"

// Error is an error in what the operator wrote; commands exit with 2 for it.
type Error struct{ text string }

// Error says what is wrong, where it was set, and what would be accepted.
func (e *Error) Error() string { return e.text }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Errorf is an error in what the operator wrote.
func Errorf(format string, args ...any) error { return refuse(format, args...) }

// checker is a struct that can tell which of its values make no sense.
type checker interface{ check(*Source) error }

// Source is where one command's settings come from.
type Source struct {
	flags  *pflag.FlagSet
	into   any
	fields []field
	file   *file // nil: none was named
}

// Bind registers a flag for every setting of the struct that into points to, with the values it has
// now as defaults. Load then fills it.
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
		// Keys hold dots nowhere yet, but a key that names a host would; "::" cannot stand in one.
		viper.KeyDelimiter("::"),
		viper.EnvKeyReplacer(strings.NewReplacer("::", "_", "-", "_")),
		// so that keys without flag or default are looked up in the environment too
		viper.ExperimentalBindStruct(),
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
	if err := v.MergeConfigMap(dashedEnviron(s.fields)); err != nil { // stronger than the file
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

// dashedEnviron are the settings in variables whose names contain "-".
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

// decode fills the struct. If that fails, the fields are tried one by one to find the one
// to name in the error.
func (s *Source) decode(v *viper.Viper) error {
	options := func(c *mapstructure.DecoderConfig) { c.TagName = tagName }
	err := v.UnmarshalExact(s.into, viper.DecodeHook(hooks), options)
	if err == nil {
		return nil
	}
	for _, f := range s.fields {
		raw := v.Get(f.key)
		one := mapstructure.DecoderConfig{Result: reflect.New(f.value.Type()).Interface(), WeaklyTypedInput: true, DecodeHook: hooks}
		dec, e := mapstructure.NewDecoder(&one)
		if e != nil {
			return e
		}
		if dec.Decode(raw) == nil {
			continue
		}
		why := f.readable(fmt.Sprint(raw))
		if why == nil {
			why = fmt.Errorf("is not a %s; use for example %s", f.value.Type().Name(), f.try())
		}
		return refuse("%s %v", s.typed(f.key, s.show(f, raw)), why)
	}
	return refuse("%v", err)
}

func (s *Source) show(f field, raw any) string {
	if f.value.Type() == reflect.TypeFor[Secret]() {
		return masked
	}
	return fmt.Sprint(raw)
}

// hooks turns what viper found into what a field holds.
var hooks = mapstructure.ComposeDecodeHookFunc(
	func(from, to reflect.Type, data any) (any, error) {
		switch {
		case to == reflect.TypeFor[time.Duration]() && from != to:
			// A bare number in YAML would silently be taken for nanoseconds. So numbers are read
			// like text, and only 0 needs no unit.
			return parseDuration(fmt.Sprint(data))
		case to == reflect.TypeFor[Size]() && from != to:
			var size Size
			err := size.UnmarshalText([]byte(fmt.Sprint(data)))
			return size, err
		case to == reflect.TypeFor[[]string]() && from.Kind() == reflect.String:
			return strings.Fields(data.(string)), nil // the environment: words
		case to.Kind() == reflect.Bool && from.Kind() != reflect.Bool && from.Kind() != reflect.String:
			return nil, errors.New("is neither true nor false")
		}
		return data, nil
	},
)

// Given reports whether key was set by anyone: a flag, the environment or the file.
func (s *Source) Given(key string) bool { return s.Origin(key) != "default" }

// Origin says where the value of key was set, for errors.
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

// typed is a setting and its value as they were written, and where.
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

// flagOf is the flag that sets key, or key itself where there is none.
func (s *Source) flagOf(key string) string {
	for _, f := range s.fields {
		if f.key == key && f.flag != "" {
			return "--" + f.flag
		}
	}
	return key
}

// Refuse makes an error about the value of key: what is wrong with it, and what would be accepted.
func (s *Source) Refuse(key, problem string) error {
	for _, f := range s.fields {
		if f.key == key {
			return refuse("%s %s", s.typed(key, f.text()), problem)
		}
	}
	return refuse("%s: %s", key, problem)
}

// refuseSecretly is Refuse for a value that may hold what is not to be shown.
func (s *Source) refuseSecretly(key, problem string) error {
	from := strings.TrimPrefix(s.Origin(key), "from ")
	if from != "default" && !strings.HasPrefix(from, "--") && !strings.HasPrefix(from, envPrefix) {
		return refuse("%s: %s %s", from, key, problem)
	} else if from == "default" {
		from = s.flagOf(key)
	}
	return refuse("%s %s", from, problem)
}

// refuseOther refuses a value of key that is not one of its choices; what says what it is not.
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

// Choices lists the words that flags can be completed to, by the flags' names. Flags that take
// anything are not among them.
func (s *Source) Choices() map[string][]string {
	all := map[string][]string{}
	for _, f := range s.fields {
		if words := append(slices.Clip(f.choices), f.words...); f.flag != "" && len(words) > 0 {
			all[f.flag] = words
		}
	}
	return all
}

// checkEnviron refuses variables with our prefix that are not ours.
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
