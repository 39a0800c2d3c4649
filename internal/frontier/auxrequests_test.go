package frontier

import (
	"log/slog"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// Every kind of auxiliary request is registered by exactly one feature, with a handler of its
// answers.
func TestAuxKinds(t *testing.T) {
	s := newShard(0, "", judge.Judge{}, slog.Default())
	n := 0
	for _, f := range s.Features.List {
		n += len(f.Aux)
	}
	if kinds := crawl.AuxKinds(); n != len(kinds) || n != len(s.Features.Kinds) {
		t.Errorf("%d kinds, %d registered, %d of them once", len(kinds), n, len(s.Features.Kinds))
	}
	for _, kind := range crawl.AuxKinds() {
		if s.Features.Kinds[kind].Answer == nil {
			t.Errorf("%v: its answers are not taken in", kind)
		}
	}
}
