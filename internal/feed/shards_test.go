package feed

import (
	"errors"
	"testing"
)

// What is wrong with several shards is said once, and of all of them without their numbers.
func TestOfShards(t *testing.T) {
	away, full := errors.New("away"), errors.New("full")
	for want, errs := range map[string][]error{
		"":                                 nil,
		"away":                             {away, away, away},
		"shard 1: away":                    {nil, away, nil},
		"shards 0, 2: away\nshard 1: full": {away, full, away, nil},
	} {
		got := ""
		err := ofShards(errs)
		if err != nil {
			got = err.Error()
		}
		if got != want || want != "" && !errors.Is(err, away) {
			t.Errorf("%v: %q, want %q", errs, got, want)
		}
	}
}
