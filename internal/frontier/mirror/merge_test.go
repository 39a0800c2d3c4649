package mirror

import (
	"testing"
	"time"
)

// TestMergeCounts: the counts of a merge continue while the main host is the same and the first
// merge with it began lately. Ending a merge and beginning it again therefore gives no new budget.
func TestMergeCounts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	a, b := originOf("a.example"), originOf("b.example")
	var m Merge
	count := func() { m.CountSent(); m.CountSent(); m.CountStored() }
	m.Begin(a, at)
	count()
	m.Begin(a, at.Add(budgetSpan-time.Second))
	if count(); m.Sent != 4 || m.StoredPages != 2 || !m.From.Equal(at) {
		t.Errorf("begun again with the same main host: %+v", m)
	}
	m.Begin(a, at.Add(budgetSpan))
	if count(); m.Sent != 2 || m.StoredPages != 1 || !m.From.Equal(at.Add(budgetSpan)) {
		t.Errorf("begun again later: %+v", m)
	}
	m.Begin(b, at.Add(budgetSpan))
	if m.Sent != 0 || m.StoredPages != 0 || m.To != b {
		t.Errorf("begun with another main host: %+v", m)
	}
}

// TestMergeProgress: a merge that begins again goes through all URLs, wherever it was.
func TestMergeProgress(t *testing.T) {
	t.Parallel()
	var m Merge
	m.Restart()
	m.GoOn([]byte("key"))
	if !m.Settling || string(m.Next) != "key" {
		t.Errorf("running: %+v", m)
	}
	if m.Restart(); !m.Settling || m.Next != nil {
		t.Errorf("restarted: %+v", m)
	}
	m.GoOn([]byte("key"))
	if m.Finish(); m.Settling || m.Next != nil {
		t.Errorf("finished: %+v", m)
	}
}

func TestTwinOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"https://a.example:8443": "https://www.a.example:8443", "https://www.a.example": "https://a.example",
		"http://www.www.a.example": "http://www.a.example", "http://www.com": "", "http://localhost": "", "http://192.0.2.7": "", "http://[2001:db8::1]": "",
	} {
		twin, ok := TwinOf(originOf(name))
		if ok != (want != "") || ok && twin.String() != want {
			t.Errorf("%s: %s %v, want %q", name, twin, ok, want)
		}
		if ok && HasWWW(twin) == HasWWW(originOf(name)) && name != "http://www.www.a.example" {
			t.Errorf("%s and its twin %s both decide, or neither", name, twin)
		}
	}
}
