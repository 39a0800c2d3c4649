package crawl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestHostRules(t *testing.T) {
	pause := func(r HostRule) HostRule { r.Paused = true; return r }
	resume := func(r HostRule) HostRule { r.Paused = false; return r }
	delay := func(d time.Duration) func(HostRule) HostRule {
		return func(r HostRule) HostRule { r.Delay = d; return r }
	}
	var s Spec
	step := func(change func(HostRule) HostRule, wantChanged bool) {
		t.Helper()
		before := len(s.Hosts)
		next, changed, err := s.WithHost("a.example", change)
		if err != nil || changed != wantChanged {
			t.Fatalf("changed %v, %v; want %v", changed, err, wantChanged)
		}
		if len(s.Hosts) != before {
			t.Error("the old spec was changed as well")
		}
		s = next
	}
	step(resume, false)
	step(pause, true)
	step(pause, false)
	step(delay(5*time.Second), true)
	if !s.Halts("a.example", time.Hour) || s.Halts("b.example", 0) {
		t.Error("the paused host is not halted, or another is")
	}
	step(resume, true)
	if s.Halts("a.example", 5*time.Second) || !s.Halts("a.example", 4*time.Second) {
		t.Error("a visit is halted whose delay is long enough, or not one whose delay is too short")
	}
	step(delay(MaxHostDelay), true)
	for _, d := range []time.Duration{-1, MaxHostDelay + 1} {
		if _, changed, err := s.WithHost("a.example", delay(d)); changed || err == nil {
			t.Errorf("a delay of %v is taken", d)
		}
	}
	if step(delay(0), true); len(s.Hosts) != 0 {
		t.Errorf("%v: a rule that says nothing is kept", s.Hosts)
	}
	if s := (&Spec{Delay: time.Second}); s.Halts("b.example", time.Second) || !s.Halts("b.example", 900*time.Millisecond) {
		t.Error("a delay of the crawl that is now longer counts for nothing, or one that is kept to halts a visit")
	}
	if !(&Spec{Paused: true}).Halts("a.example", time.Hour) {
		t.Error("a paused crawl goes on")
	}
}

func TestHostRulesAreBounded(t *testing.T) {
	pause := func(HostRule) HostRule { return HostRule{Paused: true} }
	fill := func(name func(i int) canon.Host, n int) Spec {
		s := Spec{Hosts: map[canon.Host]HostRule{}}
		for i := range n {
			s.Hosts[name(i)] = HostRule{Paused: true}
		}
		return s
	}
	short := func(i int) canon.Host { return canon.Host(fmt.Sprint(i)) }
	full := fill(short, MaxHostRules)
	// So many take more bytes than there may be; with one name each the number is what counts.
	most := MaxHostRuleBytes / (hostRuleBytes + 200)
	long := func(i int) canon.Host { return canon.Host(fmt.Sprintf("%0200d", i)) }
	for _, c := range []struct {
		spec Spec
		host canon.Host
		ok   bool
	}{
		{fill(short, 100), "a.example", true},
		{full, "a.example", false},
		{fill(long, most-1), long(most), true},
		{fill(long, most), long(most), false},
	} {
		_, changed, err := c.spec.WithHost(c.host, pause)
		if changed != c.ok || errors.Is(err, ErrHostRulesFull) == c.ok {
			t.Errorf("%d rules and one more: %v, %v", len(c.spec.Hosts), changed, err)
		}
	}
	if _, changed, err := full.WithHost("7", func(HostRule) HostRule { return HostRule{} }); !changed || err != nil {
		t.Errorf("nothing can be taken back from a full list: %v", err)
	}
}

func TestAuditIsBounded(t *testing.T) {
	a := Audit{What: strings.Repeat("x", MaxAuditText), Detail: strings.Repeat("ä", MaxAuditText)}.Bounded()
	if len(a.What) != MaxAuditText || len(a.Detail) > MaxAuditText || !strings.HasSuffix(a.Detail, "ä…") {
		t.Errorf("%d and %d bytes", len(a.What), len(a.Detail))
	}
}
