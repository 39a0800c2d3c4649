package datatxt

import (
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// The work grows in proportion to the bytes, also for hostile input.
func TestParseIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	work := func(body string) func() {
		return func() {
			if f, _ := Parse([]byte(body), root, bot); f != nil {
				f.Nested(0)
				f.Allowed("/aaaaaaaa/x")
			}
		}
	}
	small, big := hostile(MaxSize/128), hostile(MaxSize/16)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			testaid.Linear(t, name, work(small[name]), work(big[name]))
		})
	}
}
