package settings

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A crawl that renders nothing has the spec of one that is older than the setting.
func TestRender(t *testing.T) {
	row := Find("render")
	for word, want := range map[string]string{"never": "", "auto": "auto", "always": "always"} {
		spec := crawl.Spec{}
		typed := crawl.Spec{Render: word}
		if p := row.Problem(&typed); p != "" {
			t.Errorf("%s: %s", word, p)
		}
		row.Copy(&spec, &typed)
		if spec.Render != want || row.InForce(&spec) != word {
			t.Errorf("%s: stored as %q, shown as %q", word, spec.Render, row.InForce(&spec))
		}
	}
	for _, word := range []string{"Auto", "yes", "auto,always"} {
		if row.Problem(&crawl.Spec{Render: word}) == "" {
			t.Errorf("%q is accepted", word)
		}
	}
}

func TestRenderLoad(t *testing.T) {
	row := Find("render-load")
	typed := crawl.Spec{RenderLoad: []string{"media, Image", "image"}}
	spec := crawl.Spec{}
	if p := row.Problem(&typed); p != "" {
		t.Error(p)
	}
	if row.Copy(&spec, &typed); !slices.Equal(spec.RenderLoad, []string{"image", "media"}) {
		t.Errorf("stored as %q", spec.RenderLoad)
	}
	typed.RenderLoad = []string{"", " "}
	if row.Copy(&spec, &typed); spec.RenderLoad != nil {
		t.Errorf("nothing is stored as %q", spec.RenderLoad)
	}
	for word, want := range map[string]string{
		"images": `has "images"; did you mean image?`, "script": `has "script"; use image, font or media`,
	} {
		if got := row.Problem(&crawl.Spec{RenderLoad: []string{"font", word}}); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
