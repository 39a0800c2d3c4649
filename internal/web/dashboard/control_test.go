package dashboard

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/web"
)

// Wrong input is reported before any process is asked to act.
func TestFormsTypedWrong(t *testing.T) {
	type form = url.Values
	for _, bad := range []struct {
		do   func(context.Context, *asker.Crawl, url.Values, control.By) (string, error)
		form form
		want error
	}{
		{delayHost, form{"seconds": {"-1"}}, errDelay}, {delayHost, form{"seconds": {"NaN"}}, errDelay}, {delayHost, form{"seconds": {"600.1"}}, errDelay}, {delayHost, nil, errDelay},
		{forget, form{"what": {"h.example"}}, errConfirm}, {addSeeds, form{"urls": {" \n"}}, errNoSeed},
		{changeSettings, form{"max-pages": {"many"}}, errSetting}, {changeSettings, form{"max-pages": {"1"}, "max-pages-per-host": {"1"}, "max-depth": {"1"}, "delay": {"NaN"}}, errSetting},
		{addSeeds, form{"urls": {strings.Repeat("a ", maxSeedsTyped+1)}}, errManySeeds},
	} {
		if _, err := bad.do(t.Context(), nil, bad.form, control.By{}); !errors.Is(err, bad.want) {
			t.Errorf("%.100v: %v, want %v", bad.form, err, bad.want)
		}
	}
}

// An action on a URL leads back to that URL, whatever characters it has.
func TestBackToTheURL(t *testing.T) {
	const of = "https://h.example/a%20b?x=1&y=2+3&z=%26"
	for _, seen := range []bool{true, false} {
		var body bytes.Buffer
		if err := pageTemplates.Of("explain.html").Execute(&body, web.Frame{V: explainView{X: &crawl.Explanation{Canonical: of, Seen: seen}, CanControl: true}}); err != nil {
			t.Fatal(err)
		}
		doc, err := html.Parse(&body)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		each(doc, func(n *html.Node) {
			if attr(n, "name") != "back" || attr(n, "value") == "/settings" {
				return
			}
			found = true
			back, err := url.Parse(attr(n, "value"))
			if err != nil || len(attr(n, "value")) > addressLimit || back.Host != "" || back.Path != "/explain" || back.Query().Get("url") != of {
				t.Errorf("seen %v: back to %v, %v", seen, back, err)
			}
		})
		if !found {
			t.Errorf("seen %v: nothing leads back", seen)
		}
	}
}

// The settings show which types are stored, and how documents of a type are found.
func TestSettingsOfWhatIsKept(t *testing.T) {
	spec := crawl.Spec{Name: "manuals", Shards: 2, Search: true, Types: []string{"pdf", "office"}, WARC: "/srv/warc files", Purposes: []string{"ai-train"}}
	_, body := browse(t, New(Options{Typed: " --dir /srv/x", Ask: Of(asker.Stopped(spec, func() error { return nil }, nil))})).get("/settings")
	for _, want := range []string{`<a href="/search?q=type%3apdf">pdf</a>, office`, "/srv/warc files", "curtsy archive list &#39;/srv/warc files&#39;", "ai-train", "curtsy set --dir /srv/x"} {
		if !strings.Contains(body, want) {
			t.Errorf("the settings do not say %q: %s", want, body)
		}
	}
	checkMarkup(t, body)
}

// A form changes the edited fields, and does not reset fields that have changed elsewhere since,
// such as a longer delay.
func TestSettingsThatWereChangedSince(t *testing.T) {
	shown := crawl.Spec{Scope: "domain", MaxPages: 100, MaxDepth: -1, Delay: 1500 * time.Millisecond}
	var body bytes.Buffer
	if err := pageTemplates.Of("settings.html").Execute(&body, web.Frame{V: settingsView{Spec: shown, CanControl: true}}); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&body)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{}
	each(doc, func(n *html.Node) {
		switch {
		case n.Data == "input" && attr(n, "name") != "":
			form.Set(attr(n, "name"), attr(n, "value"))
		case n.Data == "option" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "selected" }):
			form.Set("scope", n.FirstChild.Data)
		}
	})
	now := shown
	now.Scope, now.MaxPages, now.Delay = "host", 50, 10*time.Second
	for _, c := range []struct {
		field, value string
		want         func(*crawl.Spec)
	}{
		{"max-depth", "-1", func(*crawl.Spec) {}}, {"max-depth", "3", func(s *crawl.Spec) { s.MaxDepth = 3 }}, {"max-pages-per-host", "7", func(s *crawl.Spec) { s.MaxPagesPerHost = 7 }},
		{"delay", "2", func(s *crawl.Spec) { s.Delay = 2 * time.Second }}, {"max-pages", "0", func(s *crawl.Spec) { s.MaxPages = 0 }}, {"scope", "any", func(s *crawl.Spec) { s.Scope = "any" }},
	} {
		typed := maps.Clone(form)
		typed.Set(c.field, c.value)
		to, err := settingsOf(typed)
		if err != nil {
			t.Fatal(err)
		}
		want := now
		c.want(&want)
		if got, err := to(now); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: scope %s, pages %d, %d of a host, depth %d, delay %v, %v", c.field, c.value, got.Scope, got.MaxPages, got.MaxPagesPerHost, got.MaxDepth, got.Delay, err)
		}
	}
}

// If a process runs that can be controlled, pages have the forms for it, each with the token, and
// each leads to an action that exists.
func TestControlsOnPages(t *testing.T) {
	known := map[string]bool{}
	for _, a := range actions {
		known[a.path] = true
	}
	x := crawl.Explanation{Canonical: "https://h.example/", Seen: true}
	unseen := crawl.Explanation{Canonical: "https://h.example/"}
	for _, p := range []struct {
		file  string
		v     any
		forms int
	}{
		{"host.html", hostView{HostInfo: crawl.HostInfo{Host: "h.example"}, CanControl: true}, 4},
		{"host.html", hostView{HostInfo: crawl.HostInfo{Host: "h.example", Paused: true}, CanControl: true}, 4},
		{"host.html", hostView{HostInfo: crawl.HostInfo{Host: "h.example"}}, 0},
		{"explain.html", explainView{X: &x, CanControl: true}, 2}, {"explain.html", explainView{X: &unseen, CanControl: true}, 2}, {"explain.html", explainView{X: &x}, 0},
		{"settings.html", settingsView{Spec: crawl.Spec{Forgotten: []string{"h.example"}, Seeds: []string{evilURL}}, CanControl: true}, 3}, {"settings.html", settingsView{}, 0},
	} {
		var body bytes.Buffer
		if err := pageTemplates.Of(p.file).Execute(&body, web.Frame{V: p.v, CSRF: "token"}); err != nil {
			t.Fatal(err)
		}
		checkMarkup(t, body.String())
		doc, err := html.Parse(&body)
		if err != nil {
			t.Fatal(err)
		}
		forms := 0
		each(doc, func(n *html.Node) {
			if n.Data != "form" || attr(n, "method") != "post" {
				return
			}
			forms++
			token := false
			each(n, func(in *html.Node) { token = token || attr(in, "name") == "csrf" && attr(in, "value") == "token" })
			if !known[attr(n, "action")] || !token {
				t.Errorf("%s: a form to %s, with the token: %v", p.file, attr(n, "action"), token)
			}
		})
		if forms != p.forms {
			t.Errorf("%s: %d forms, want %d", p.file, forms, p.forms)
		}
	}
}

// Each setting of a crawl is on the page of settings, with the value in force.
func TestEachSettingIsShown(t *testing.T) {
	var body bytes.Buffer
	spec := settings.Defaults()
	spec.Types = nil
	if err := pageTemplates.Of("settings.html").Execute(&body, web.Frame{V: settingsView{Spec: spec}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range settings.All() {
		if !strings.Contains(body.String(), "<code>"+row.Name+"</code>") {
			t.Errorf("%s is not shown", row.Name)
		}
	}
	if !strings.Contains(body.String(), ">html text<") {
		t.Error("the default of the types is not shown")
	}
}

// What a field of the form for settings shows can be read back.
func TestInputsCanBeRead(t *testing.T) {
	spec := settings.Defaults()
	for _, row := range settings.All() {
		if row.Label == "" {
			continue
		}
		var back crawl.Spec
		in := inputOf(row, spec)
		if !readInput(row, &back, in.Value) || !reflect.DeepEqual(row.Value(&back), row.Value(&spec)) {
			t.Errorf("%s: %+v is read as %v, want %v", row.Name, in, row.Value(&back), row.Value(&spec))
		}
	}
}
