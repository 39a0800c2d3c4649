package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/crawl"
)

// field is the value of a row: a field of the spec whose value people write as a T.
type field[T any] struct {
	at       func(*crawl.Spec) *T
	standard T // the default
	// check and against return what is wrong with a value, alone and together with other settings.
	check   func(T) string
	against func(*crawl.Spec) string
	// set stores a value that was typed; nil means that it is stored as it is.
	set func(*crawl.Spec, T)
	// text is the value in words; nil means that the function words makes it.
	text func(T) string
}

// Pointer implements value.
func (f field[T]) Pointer(s *crawl.Spec) any { return f.at(s) }

// Value implements value.
func (f field[T]) Value(s *crawl.Spec) any { return *f.at(s) }

// Text implements value.
func (f field[T]) Text(s *crawl.Spec) string {
	if v := *f.at(s); f.text != nil {
		return f.text(v)
	} else {
		return words(v)
	}
}

// Problem implements value.
func (f field[T]) Problem(s *crawl.Spec) (problem string) {
	if f.check != nil {
		problem = f.check(*f.at(s))
	}
	if problem == "" && f.against != nil {
		problem = f.against(s)
	}
	return problem
}

// Copy implements value.
func (f field[T]) Copy(to, typed *crawl.Spec) {
	if v := *f.at(typed); f.set != nil {
		f.set(to, v)
	} else {
		*f.at(to) = v
	}
}

// isZero reports whether the field of a spec has the zero value of its type.
func (f field[T]) isZero(s *crawl.Spec) bool { return reflect.ValueOf(f.at(s)).Elem().IsZero() }

func (f field[T]) reset(s *crawl.Spec) {
	v := f.standard
	if list, ok := any(&v).(*[]string); ok {
		*list = slices.Clone(*list) // whoever fills the spec may write into the list
	}
	*f.at(s) = v
}

// words is the value of a setting in words.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return cmp.Or(v, "nothing")
	case []string:
		return cmp.Or(strings.Join(v, " "), "nothing")
	}
	return fmt.Sprint(v)
}

// NoLimit is the text of a limit that does not limit anything.
const NoLimit = "no limit"

// limit returns a limit in words. Up to the number none there is no limit.
func limit[T ~int | ~int64](none T) func(T) string {
	return func(n T) string {
		if n <= none {
			return NoLimit
		}
		return humanize.Comma(int64(n))
	}
}

// atLeast checks a number.
func atLeast[T ~int | ~int64](least T, problem string) func(T) string {
	return func(n T) string {
		if n < least {
			return problem
		}
		return ""
	}
}
