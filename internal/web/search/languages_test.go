package search

import (
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestLanguagesOf(t *testing.T) {
	for list, want := range map[string]string{
		"": "", "*": "", "de": "de", "de-CH, de;q=0.9, en;q=0.8, *;q=0.5": "de en",
		"en;q=0.2,FR ;q=1.000,de; Q=0.5": "fr de en", "zh-Hant-TW,zh;q=0.9": "zh", "de;q=0,fr": "fr", ",, de ,": "de", "haw": "haw",
		"english": "-", "d": "-", "de;q=2": "-", "de;q=NaN": "-", "de;q=-1": "-", "de;level=1": "-", "de fr": "-", ";q=1": "-", "d\u00e9": "-",
	} {
		got, ok := languagesOf(list)
		if joined := strings.Join(got, " "); ok != (want != "-") || ok && joined != want {
			t.Errorf("%q: %q, %v; want %q", list, got, ok, want)
		}
	}
	at := strings.Repeat("de,", maxLanguageList/3) // 1023 bytes
	if _, ok := languagesOf(at + ","); !ok {
		t.Error("a list at the limit is refused")
	}
	if _, ok := languagesOf(at + ",,"); ok {
		t.Error("a list past the limit is read")
	}
}

// The browser's languages are used, unless the parameter overrides them.
func TestAcceptLanguage(t *testing.T) {
	for _, c := range []struct {
		path, accept string
		want         []string
	}{
		{"?q=a", "de-CH,de;q=0.9,en;q=0.8", []string{"de", "en"}},
		{"?q=a&languages=fr", "de", []string{"fr"}},
		{"?q=a&languages=*", "de", nil},
		{"?q=a", "nonsense", nil},
		{"?q=a", "", nil},
		{"?q=a", "aa,bb,cc,dd,ee,ff,gg,hh,ii", []string{"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"}},
	} {
		for _, at := range []string{"/api/v1/search", "/search"} {
			f := answers(crawl.SearchAnswer{Hits: make([]crawl.Hit, 1), Next: "c"}, nil)
			r := httptest.NewRequest("GET", at+c.path, nil)
			r.Header.Set("Accept-Language", c.accept)
			rec := httptest.NewRecorder()
			New(Options{Crawl: f}).ServeHTTP(rec, r)
			if len(f.asked) != 1 || !reflect.DeepEqual(f.asked[0].Languages, c.want) {
				t.Errorf("%s%s with %q: asked %+v", at, c.path, c.accept, f.asked)
			}
			if !slices.Contains(rec.Header().Values("Vary"), "Accept-Language") {
				t.Errorf("%s: header %v", at, rec.Header())
			}
			if strings.Contains(rec.Body.String(), "languages=") != strings.Contains(c.path, "languages=") {
				t.Errorf("%s%s: links take over what the browser said: %s", at, c.path, rec.Body)
			}
		}
	}
}

// FuzzLanguages: what a list says, said shortly, is read as the same.
func FuzzLanguages(f *testing.F) {
	f.Add("de-CH,de;q=0.9,en;q=0.8,*;q=0.1")
	f.Fuzz(func(t *testing.T, list string) {
		codes, ok := languagesOf(list)
		again, okAgain := languagesOf(strings.Join(codes, ","))
		if ok && (!okAgain || !slices.Equal(codes, again)) {
			t.Errorf("%q is %q, and that is %q", list, codes, again)
		}
	})
}
