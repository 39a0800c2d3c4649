package daemons

import (
	"context"
	"errors"
	"testing"

	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/service"
)

// blank renders everything to nothing.
type blank struct{}

func (blank) Render(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
	return new(render.Result), nil
}

// With a password that everybody knows, pages of a crawl with a contact are not rendered.
func TestRendererForDemos(t *testing.T) {
	for agent, refused := range map[string]bool{"curtsy/1": false, "curtsy/1 (+me@example.org)": true} {
		_, err := forDemos{blank{}}.Render(t.Context(), &render.Page{UserAgent: agent}, nil)
		if (err != nil) != refused || refused && !(errors.Is(err, service.ErrDemoPassword) && errors.Is(err, render.ErrUnavailable)) {
			t.Errorf("%s: %v", agent, err)
		}
	}
}
