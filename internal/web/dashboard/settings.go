package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/settings"
)

// settingsView is what settings.html shows.
type settingsView struct {
	crawl.Spec
	CanControl bool // the crawl is running, so its settings can be changed
	// How many entries the page leaves out of long lists.
	MoreSeeds, MoreForgotten int
	MaxSeeds                 int
	Kept                     []kept // types of documents
	For                      string // what pages are fetched for
	Words                    string // what is crawled, in a sentence
}

// kept is a type of documents that the crawl keeps. Query is a search for them, or "" if no query
// finds exactly these documents.
type kept struct{ Name, Query string }

// typeQueries are searches for the types whose documents all have one media type.
var typeQueries = map[string]string{"html": "type:html", "text": "type:plain", "markdown": "type:markdown", "pdf": "type:pdf"}

// listShown is how many seeds, rules and so on are listed of each.
const listShown = 50

func settingsPage(ctx context.Context, c *asker.Crawl, _ *request) (any, error) {
	v := settingsView{Spec: c.Spec, CanControl: !c.Stopped(), MaxSeeds: maxSeedsTyped}
	if v.CanControl {
		spec, err := service.ReadSpec(ctx, c.Bucket) // it may have changed since we came
		if err != nil {
			return nil, err
		}
		v.Spec = spec
	}
	for _, name := range v.TypeSet().Names() {
		k := kept{Name: name}
		if v.Search {
			k.Query = typeQueries[name]
		}
		v.Kept = append(v.Kept, k)
	}
	v.For = v.PurposeSet().String()
	v.Words = control.Words(v.Spec)
	v.Seeds, v.MoreSeeds = cut(v.Seeds, listShown)
	v.Forgotten, v.MoreForgotten = cut(v.Forgotten, listShown)
	v.Include, _ = cut(v.Include, listShown)
	v.Exclude, _ = cut(v.Exclude, listShown)
	v.Hurry, _ = cut(v.Hurry, listShown)
	return v, nil
}

var errSetting = errors.New("A limit is a whole number. A delay is a number of seconds from 0 to 600.")

// changeSettings changes scope, limits and the least delay, or describes the effect.
func changeSettings(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	to, err := settingsOf(form)
	if err != nil {
		return "", err
	}
	if form.Get("preview") != "" {
		return control.PreviewSet(ctx, c, to)
	}
	return control.Set(ctx, c, by, to)
}

// settingsOf reads a form. It changes only the settings whose fields differ from what the page
// showed. Somebody else may have changed the others since, and a longer delay must not be undone by
// accident.
func settingsOf(form url.Values) (control.Settings, error) {
	var typed crawl.Spec
	for _, row := range settings.All() {
		if row.Label != "" && !readInput(row, &typed, strings.TrimSpace(form.Get(row.Name))) {
			return nil, errSetting
		}
	}
	return func(s crawl.Spec) (crawl.Spec, error) {
		for _, row := range settings.All() {
			if was, shown := form["was-"+row.Name]; row.Label != "" && (!shown || was[0] != form.Get(row.Name)) {
				row.Copy(&s, &typed)
			}
		}
		return s, nil
	}, nil
}

// shownSetting is a setting and its value in words.
type shownSetting struct{ Name, Title, Text string }

// All lists every setting of the crawl with the value in force.
func (v settingsView) All() (all []shownSetting) {
	for _, row := range settings.All() {
		all = append(all, shownSetting{row.Name, row.Title, row.InForce(&v.Spec)})
	}
	return all
}

// Limits lists the settings that limit the crawl.
func (v settingsView) Limits() (limits []shownSetting) {
	for _, row := range settings.All() {
		if row.Title == "" {
			continue
		}
		text := row.Text(&v.Spec)
		if n, ok := row.Value(&v.Spec).(settings.Size); ok && n > 0 {
			text = size(int64(n))
		}
		if text != settings.NoLimit {
			text = "at most " + text
		}
		limits = append(limits, shownSetting{row.Name, row.Title, text})
	}
	return limits
}

// input is a field of the form that changes settings: a choice of Options, or a number.
type input struct {
	Name, Label, Value string
	Options            []string
	Min, Max, Step     string
}

// Inputs are the fields of the form.
func (v settingsView) Inputs() (inputs []input) {
	for _, row := range settings.All() {
		if row.Label != "" {
			inputs = append(inputs, inputOf(row, v.Spec))
		}
	}
	return inputs
}

func inputOf(row *settings.Setting, s crawl.Spec) input {
	in := input{Name: row.Name, Label: row.Label, Value: fmt.Sprint(row.Value(&s)), Options: row.Choices, Min: "0"}
	if len(in.Options) > 0 && !slices.Contains(in.Options, in.Value) { // a scope such as *.NAME
		in.Options = append(slices.Clip(in.Options), in.Value)
	}
	switch p := row.Pointer(&s).(type) {
	case *time.Duration:
		in.Value, in.Max, in.Step = fmt.Sprint(p.Seconds()), fmt.Sprint(control.MaxDelay.Seconds()), "any"
	case *int:
		if *p = -1; row.Problem(&s) == "" {
			in.Min = "-1"
		}
	}
	return in
}

// readInput stores what was typed into the field of a setting. It reports false if that is not a
// value of the setting's type.
func readInput(row *settings.Setting, to *crawl.Spec, text string) bool {
	switch p := row.Pointer(to).(type) {
	case *string:
		*p = text
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		*p = n
		return err == nil
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return err == nil
	case *time.Duration:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds < 1e9) {
			return false
		}
		*p = time.Duration(math.Round(seconds * float64(time.Second)))
	default:
		return false
	}
	return true
}
