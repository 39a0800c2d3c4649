package judge

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/settings"
)

// What the table of settings says is decided again after a change is what changes here.
func TestEffectsOfSettings(t *testing.T) {
	was := settings.Defaults()
	was.Recrawl = true
	for _, row := range settings.All() {
		is := was
		change(row, &is)
		a, err := New(was)
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(is)
		if err != nil {
			t.Fatalf("%s: %v", row.Name, err)
		}
		var got settings.Effect
		for effect, changed := range map[settings.Effect]bool{
			settings.URLs:      a.Fingerprint() != b.Fingerprint(),
			settings.Refusals:  !a.Settings().Same(b.Settings()),
			settings.Links:     was.LinkText() != is.LinkText(),
			settings.Refetches: a.PlanText() != b.PlanText(),
			settings.Sitemaps:  a.SitemapText() != b.SitemapText(),
			settings.Hosts:     was.MaxHosts != is.MaxHosts, // ledger.MaxHosts reads it
		} {
			if changed {
				got |= effect
			}
		}
		if got != row.Decides {
			t.Errorf("a change of %s decides again %q, the table says %q", row.Name, got.Names(), row.Decides.Names())
		}
	}
}

// change gives a setting a value other than its default.
func change(row *settings.Setting, s *crawl.Spec) {
	words := map[string]string{"scope": "any", "types": "pdf", "purpose": "tdm", "hours": "22:00-06:00", "timezone": "Europe/Berlin"}
	word, ok := words[row.Name]
	if !ok {
		word = "docs.example.org"
	}
	switch p := row.Pointer(s).(type) {
	case *string:
		*p = word
	case *settings.Sites:
		*p = "sites: {a.example: {delay: 5s}}\n"
	case *[]string:
		*p = []string{word}
	case *bool:
		*p = !*p
	case *settings.Off:
		*p = !*p
	case *int:
		*p = 0
		if row.Name == "shards" {
			*p = 3
		}
	case *int64:
		*p += 5
	case *settings.Size:
		*p += 5
	case *time.Duration:
		*p += time.Hour
	}
}
