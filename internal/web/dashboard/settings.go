package dashboard

import (
	"context"
	"errors"
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
)

// settingsView is what settings.html shows.
type settingsView struct {
	crawl.Spec
	CanControl bool // a process runs that can be controlled
	// The lengths of the lists that are cut.
	MoreSeeds, MoreForgotten int
	MaxSeeds                 int
	Scopes                   []string // the words there are
	Kept                     []kept   // types of documents
	For                      string   // what pages are fetched for
	Words                    string   // what is crawled, in a sentence
}

// kept is a type of documents that the crawl stores. Query finds them by search; "": no single
// query does.
type kept struct{ Name, Query string }

// typeQueries find the documents of a type that has a single media type.
var typeQueries = map[string]string{"html": "type:html", "text": "type:plain", "markdown": "type:markdown", "pdf": "type:pdf"}

// listShown is how many seeds, rules and so on are listed of each.
const listShown = 50

func settings(ctx context.Context, c *asker.Crawl, _ *request) (any, error) {
	v := settingsView{Spec: c.Spec, CanControl: !c.Stopped(), MaxSeeds: maxSeedsTyped, Scopes: control.Scopes}
	if !slices.Contains(v.Scopes, c.Spec.Scope) { // *.NAME
		v.Scopes = append(slices.Clip(v.Scopes), c.Spec.Scope)
	}
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

// settingsOf is what a form changes: the fields that differ from what the form showed. Another
// operator may have changed the others since, and a delay that was raised must not be reset without
// notice.
func settingsOf(form url.Values) (control.Settings, error) {
	var numbers [3]int64
	for i, name := range []string{"max-pages", "max-pages-per-host", "max-depth"} {
		n, err := strconv.ParseInt(strings.TrimSpace(form.Get(name)), 10, 64)
		if err != nil {
			return nil, errSetting
		}
		numbers[i] = n
	}
	delay, err := strconv.ParseFloat(strings.TrimSpace(form.Get("delay")), 64)
	if err != nil || !(delay >= 0 && delay < 1e9) {
		return nil, errSetting
	}
	return func(s crawl.Spec) (crawl.Spec, error) {
		for name, set := range map[string]func(){
			"scope":              func() { s.Scope = form.Get("scope") },
			"max-pages":          func() { s.MaxPages = numbers[0] },
			"max-pages-per-host": func() { s.MaxPagesPerHost = numbers[1] },
			"max-depth":          func() { s.MaxDepth = int(numbers[2]) },
			"delay":              func() { s.Delay = time.Duration(math.Round(delay * float64(time.Second))) },
		} {
			if was, shown := form["was-"+name]; !shown || was[0] != form.Get(name) {
				set()
			}
		}
		return s, nil
	}, nil
}
