package dashboard

import (
	"context"
	"errors"
	"net/url"
	"strings"

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
