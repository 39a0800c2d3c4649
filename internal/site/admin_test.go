package site

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
)

// A robot that has lost its key asks the operator, who frees the address.
func TestForget(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	dir := filepath.Dir(o.file)
	o.register(rup.Registration{ID: "A", Email: "A@x.example", Latency: daily, Sequence: 3, Registered: time.Unix(0, 0).UTC()})
	o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily, Pending: true, Registered: time.Unix(0, 0).UTC()})
	if err := Robots(dir, io.Discard); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("while it is open: %v", err)
	}
	o.must(o.db.Close())
	list := func() string {
		var out strings.Builder
		o.must(Robots(dir, &out))
		return out.String()
	}
	if got, want := list(), "A@x.example\tday\tregistered since 1970-01-01\tlast report 3\nb@x.example\tday\tnot confirmed since 1970-01-01\tlast report 0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o.must(Forget(t.Context(), dir, "a@X.example"))
	if got := list(); strings.Contains(got, "A@") || !strings.Contains(got, "b@") {
		t.Errorf("left are %q", got)
	}
	if err := Forget(t.Context(), dir, "a@x.example"); err == nil || !strings.Contains(err.Error(), "curtsy rupd robots --config FILE") {
		t.Errorf("twice: %v", err)
	}
}
