package siterules

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/rulefile"
)

// reader reads values of the file and collects their mistakes.
type reader struct{ rulefile.Reader }

// MaxDelay is the longest delay that a file may ask for.
const MaxDelay = 24 * time.Hour

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	text := r.Text(n, what)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.At(n, "%s %q is not a time with its unit (ms, s, m, h); use for example 5s", what, text)
	case d <= 0:
		r.At(n, "%s %q must be more than 0; the delay that a site asks for is kept anyway", what, text)
	case d > MaxDelay:
		r.At(n, "%s %q is longer than a day; use exclude for what is not to be fetched", what, text)
	default:
		return d
	}
	return 0
}
