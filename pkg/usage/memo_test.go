package usage

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// With a Memo a Set has the same result as without one, also the second time.
func TestMemo(t *testing.T) {
	var memo Memo
	for range 2 {
		for _, value := range []string{"train-ai=n", "search=y, ai-use=n", "", "?", "search=no, cats=yes", "search=yes", "search=", strings.Repeat("a=1, ", 200) + "train-ai=n", "bots=n"} {
			h := http.Header{"Content-Usage": {value}, "Content-Signal": {value, value}}
			with, without := Set{Memo: &memo}, Set{}
			with.Headers(h)
			without.Headers(h)
			if !reflect.DeepEqual(with.Statements(), without.Statements()) || with.Preferences() != without.Preferences() || !reflect.DeepEqual(with.Diagnostics(), without.Diagnostics()) {
				t.Errorf("%q: %+v, without %+v", value, with.Statements(), without.Statements())
			}
		}
	}
	for i := range 10 * maxMemo {
		s := Set{Memo: &memo}
		s.ContentSignal(Position{"x", 1}, "ai-train=no"+strings.Repeat(" ", i))
		s.ContentUsage(Position{"x", 1}, "train-ai=n;x="+strconv.Itoa(i))
		if p := s.Preferences(); p[AITrain] != Disallow || len(memo.read) > maxMemo {
			t.Fatalf("%d: %v, %d kept", i, p, len(memo.read))
		}
	}
	h := http.Header{"Content-Signal": {"search=yes, ai-train=no"}}
	if n := testing.AllocsPerRun(100, func() {
		s := Set{Memo: &memo}
		s.Headers(h)
	}); n > 1 {
		t.Errorf("%v allocations for what was read before", n)
	}
}
