package config

import (
	"reflect"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/settings"
)

// spec has the settings of a crawl as they were typed. Its fields become those of the struct that
// embeds it.
type spec = crawl.Spec

// Plan are the settings that become the crawl's Spec: what to crawl, as whom, and how fast. They
// are the rows of the table of settings.
type Plan struct{ spec }

func newPlan() Plan { return Plan{settings.Defaults()} }

func (p *Plan) fields() (fs []field) {
	for _, row := range settings.All() {
		fs = append(fs, rowField(row, reflect.ValueOf(row.Pointer(&p.spec)).Elem()))
	}
	return fs
}

func (p *Plan) check(src *Source) error { return checkSettings(src, &p.spec) }

// Spec is the crawl that the plan describes. old is the spec of a crawl that exists already. Then
// only the settings that given reports as set replace those of old, and its name and its number of
// shards stay.
func (p *Plan) Spec(old *crawl.Spec, given func(key string) bool) crawl.Spec {
	return settings.Apply(old, &p.spec, given)
}

// Change are the settings that may change while a crawl runs.
type Change struct{ spec }

func (c *Change) fields() (fs []field) {
	for _, row := range settings.All() {
		if !row.Set {
			continue
		}
		f := rowField(row, reflect.ValueOf(row.Pointer(&c.spec)).Elem())
		if f.common = true; row.UsageInSet != "" {
			f.usage = row.UsageInSet
		}
		fs = append(fs, f)
	}
	return fs
}

// Any reports whether any setting is to be changed.
func (c *Change) Any(given func(key string) bool) bool {
	for _, f := range c.fields() {
		if given(f.key) {
			return true
		}
	}
	return false
}

// Spec is old with the settings replaced that given reports as set.
func (c *Change) Spec(old crawl.Spec, given func(key string) bool) crawl.Spec {
	return settings.Apply(&old, &c.spec, given)
}

// checkSettings refuses values of settings of a crawl that cannot be used.
func checkSettings(src *Source, typed *crawl.Spec) error {
	for _, row := range settings.All() {
		switch problem := row.Problem(typed); {
		case problem == "":
		case len(row.Choices) > 0:
			return src.refuseOther(row.Name, problem)
		default:
			return src.Refuse(row.Name, problem)
		}
	}
	return nil
}
