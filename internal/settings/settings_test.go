package settings

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// noSettings are the fields of a spec that are no settings. They name the crawl, or operator
// actions write them.
var noSettings = []string{
	"Name", "Created", "Seeds", "PlanOnly", "Paused", "Hosts", "EverySince", "UpdatesOff", "UpdatesPrefer", "Forgotten", "Reindex", "SearchRules",
}

// Each field of a spec that is a setting has exactly one row.
func TestEachSettingHasOneRow(t *testing.T) {
	var spec crawl.Spec
	v := reflect.ValueOf(&spec).Elem()
	rows := map[uintptr][]string{}
	for _, row := range All() {
		at := reflect.ValueOf(row.Pointer(&spec)).Pointer()
		rows[at] = append(rows[at], row.Name)
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous {
			continue // its fields follow
		}
		name, at := f.Name, v.FieldByIndex(f.Index).Addr().Pointer()
		want := 1
		if slices.Contains(noSettings, name) {
			want = 0
		}
		if len(rows[at]) != want {
			t.Errorf("crawl.Spec.%s has the rows %q, want %d: see doc.go", name, rows[at], want)
		}
		delete(rows, at)
	}
	if len(rows) > 0 {
		t.Errorf("rows without a field: %v", rows)
	}
}

// Each row has what the others read of it.
func TestRows(t *testing.T) {
	defaults := Defaults()
	names := map[string]bool{}
	for _, row := range All() {
		if names[row.Name] || Find(row.Name) != row {
			t.Errorf("%s is not the only row of this name", row.Name)
		}
		names[row.Name] = true
		if row.Usage == "" || row.Group == "" || row.Text(&defaults) == "" {
			t.Errorf("%s lacks a usage, a group or a text: %+v", row.Name, row)
		}
		if strings.Contains(row.Usage, "{}") != (len(row.Choices) > 0) {
			t.Errorf("%s: {} stands for the choices: %q", row.Name, row.Usage)
		}
		if problem := row.Problem(&defaults); problem != "" {
			t.Errorf("the default of %s %s", row.Name, problem)
		}
		if row.Set && row.Fixed || row.Label != "" && !row.Set {
			t.Errorf("%s cannot change while a crawl runs, and can", row.Name)
		}
	}
	if Find("nosuch") != nil {
		t.Error("found a setting that there is not")
	}
}

// A refusal names a value that works.
func TestProblemsSayWhatWorks(t *testing.T) {
	for name, bad := range map[string]func(*crawl.Spec){
		"contact": func(s *crawl.Spec) { s.Contact = "me" }, "agent": func(s *crawl.Spec) { s.Agent = "a b" }, "delay": func(s *crawl.Spec) { s.Delay = -1 },
		"include": func(s *crawl.Spec) { s.Include = []string{"("} }, "hurry": func(s *crawl.Spec) { s.Hurry = []string{"*.org"} },
		"max-depth": func(s *crawl.Spec) { s.MaxDepth = -2 }, "max-hosts-per-domain": func(s *crawl.Spec) { s.MaxHosts = 0 },
		"recrawl-min": func(s *crawl.Spec) { s.RecrawlMin = 0 }, "recrawl-max": func(s *crawl.Spec) { s.RecrawlMax = 1 },
		"every": func(s *crawl.Spec) { s.Every = 1 }, "updates-mail": func(s *crawl.Spec) { s.UpdatesMail = "me" },
		"updates-websub-url": func(s *crawl.Spec) { s.UpdatesWebSub = "x" }, "types": func(s *crawl.Spec) { s.Types = []string{"x"} },
		"purpose": func(s *crawl.Spec) { s.Purposes = nil }, "resolve": func(s *crawl.Spec) { s.Resolve = []string{"x"} },
		"shards": func(s *crawl.Spec) { s.Shards = crawl.MaxShards + 1 },
	} {
		s := Defaults()
		bad(&s)
		for _, row := range All() {
			problem := row.Problem(&s)
			if (problem != "") != (row.Name == name) {
				t.Errorf("with a bad %s, %s has the problem %q", name, row.Name, problem)
			}
			if problem != "" && !strings.Contains(problem, "use") {
				t.Errorf("%s %s: which value works?", name, problem)
			}
		}
	}
}

// Whoever fills a spec does not change the defaults.
func TestDefaultsAreCopies(t *testing.T) {
	a := Defaults()
	a.Types[0] = "x"
	if b := Defaults(); b.Types[0] == "x" {
		t.Error("two specs share a list")
	}
}
