package datatxt

import (
	"errors"
	"strings"
	"testing"
)

func refused(t *testing.T, body string, want error) {
	t.Helper()
	if f, err := Parse([]byte(body), root, bot); f != nil || !errors.Is(err, want) {
		t.Errorf("%d bytes, %.40q…: %v, want %v", len(body), body, err, want)
	}
}

func TestDatatxt_Limits_YAMLSize(t *testing.T) {
	body := "- path: a\n#"
	body += strings.Repeat("x", MaxSize-len(body))
	one(t, body)
	refused(t, body+"\n", ErrLimit)
}

// Of records that are too long the lines that fit are read; the line across the limit is dropped
// completely.
func TestDatatxt_Limits_RecordsSize(t *testing.T) {
	head := "User-agent: *\nDisallow: /a\n#"
	last := "\nDisallow: /last"
	body := head + strings.Repeat("x", MaxSize-len(head)-len(last)) + last
	for name, c := range map[string]struct {
		body   string
		closed bool
	}{"at the limit": {body, true}, "past it": {body + "er", false}} {
		f := parse(t, c.body)
		if allowed, _ := f.Allowed("/lasting"); allowed == c.closed {
			t.Errorf("%s: allowed = %v", name, allowed)
		}
		if allowed, _ := f.Allowed("/a"); allowed {
			t.Errorf("%s: the first rule is lost", name)
		}
		if (f.Skipped == 0) != c.closed {
			t.Errorf("%s: %s", name, reasons(f))
		}
	}
	// A single endless line has no content.
	refused(t, strings.Repeat("x", 2*MaxSize), ErrNotDataTxt)
	if f := parse(t, "User-agent: *"+strings.Repeat(" ", MaxSize)); len(f.Datasets) != 0 || f.Form != Records {
		t.Errorf("%+v", f)
	}
}

func TestDatatxt_Limits_Entries(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("- path: f" + number(new(int64(i))) + "\n")
		}
		return b.String()
	}
	if f := parse(t, list(MaxEntries)); len(f.Datasets) != MaxEntries {
		t.Errorf("%d datasets", len(f.Datasets))
	}
	refused(t, list(MaxEntries+1), ErrLimit)

	// Records are not refused: their rules still apply.
	records := "User-agent: *\n" + strings.ReplaceAll(list(MaxEntries+1), "- path", "Path") + "Title: x\nDisallow: /closed\n"
	f := parse(t, records)
	if len(f.Datasets) != MaxEntries || reasons(f) != "10002: more than 10000 datasets" {
		t.Errorf("%d datasets; %s", len(f.Datasets), reasons(f))
	}
	if allowed, _ := f.Allowed("/closed"); allowed {
		t.Error("a rule past the last dataset is lost")
	}
	if f := parse(t, "User-agent: *\n"+strings.ReplaceAll(list(MaxEntries), "- path", "Path")); len(f.Datasets) != MaxEntries || f.Skipped != 0 {
		t.Errorf("%d datasets; %s", len(f.Datasets), reasons(f))
	}
}

func TestDatatxt_Limits_Depth(t *testing.T) {
	nest := func(n int) string { // a list, an entry, and n-2 more lists
		return "- path: a\n  k: " + strings.Repeat("[", n-2) + "x" + strings.Repeat("]", n-2)
	}
	one(t, nest(MaxDepth))
	refused(t, nest(MaxDepth+1), ErrLimit)
	refused(t, strings.Repeat("[", 100_000), ErrSyntax)
	refused(t, strings.Repeat("- ", MaxDepth)+"- x", ErrLimit)
	if f := parse(t, strings.Repeat("- ", MaxDepth)+"x"); f.Skipped != 1 {
		t.Errorf("%s", reasons(f))
	}
}

func TestDatatxt_Limits_Paths(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(number(new(int64(i))) + ",")
		}
		return "- path: [" + b.String() + "]"
	}
	if d := one(t, list(maxURLs)); len(d.URLs) != maxURLs {
		t.Errorf("%d URLs", len(d.URLs))
	}
	f := parse(t, list(maxURLs+1))
	if len(f.Datasets[0].URLs) != maxURLs || f.Skipped != 1 {
		t.Errorf("%d URLs; %s", len(f.Datasets[0].URLs), reasons(f))
	}
}

func TestDatatxt_Limits_Diagnostics(t *testing.T) {
	f := parse(t, "- path: a\n"+strings.Repeat("- "+strings.Repeat("x", 300)+"\n", 500)+"- path: mailto:"+strings.Repeat("é", 300))
	if len(f.Diagnostics) != maxDiagnostics || f.Skipped != 501 {
		t.Errorf("%d diagnostics of %d", len(f.Diagnostics), f.Skipped)
	}
	f = parse(t, "- path: mailto:"+strings.Repeat("é", 300))
	if r := f.Diagnostics[0].Reason; len(r) > 210 || r != valid(r) {
		t.Errorf("%d bytes of a reason", len(r))
	}
}
