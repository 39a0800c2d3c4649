package agenthost

import (
	"errors"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
)

func TestQuotas(t *testing.T) {
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	one := Quota{Runs: 1, Read: 100, Sent: 10, CPU: time.Minute}
	number := 0
	admit := func(now time.Time, key string, quota Quota) (*record, error) {
		number++
		r := &record{ID: string(rune('a' + number)), Key: key, Reserved: one}
		tk := mobile.Ticket{Key: key, Nonce: r.ID, NotAfter: now.Unix() + 3600}
		return r, s.admit(now, tk, quota, r)
	}
	for what, quota := range map[string]Quota{
		"2 runs":                  {Runs: 2, Read: 1000, Sent: 100, CPU: time.Hour},
		"250 octets read":         {Runs: 9, Read: 250, Sent: 100, CPU: time.Hour},
		"29 octets sent":          {Runs: 9, Read: 1000, Sent: 29, CPU: time.Hour},
		"2m59s of processor time": {Runs: 9, Read: 1000, Sent: 100, CPU: 3*time.Minute - time.Second},
	} {
		key := "key " + what
		first, err1 := admit(noon, key, quota)
		_, err2 := admit(noon, key, quota)
		_, err3 := admit(noon, key, quota)
		var over *exceeded
		if err1 != nil || err2 != nil || !errors.As(err3, &over) || over.what != what {
			t.Fatalf("%s: %v, %v, %v", what, err1, err2, err3)
		}
		soon := over.until.Equal(noon.Add(time.Minute))
		if midnight := over.until.Equal(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)); soon == midnight || midnight != (what == "2 runs") {
			t.Errorf("%s: try again at %s", what, over.until)
		}
		// A run that used little gives the rest back, but stays a run.
		first.Ended, first.Summary = noon, mobile.Summary{Read: 1, Sent: 1, CPU: 1}
		if err := s.settle(first); err != nil {
			t.Fatal(err)
		}
		if _, err := admit(noon, key, quota); (err != nil) != (what == "2 runs") {
			t.Errorf("%s: after the first was settled: %v", what, err)
		}
		// What another key does, and the next day, are independent.
		if _, err := admit(noon, key+" of another", quota); err != nil {
			t.Errorf("%s: another key: %v", what, err)
		}
		if _, err := admit(noon.Add(12*time.Hour), key, quota); err != nil {
			t.Errorf("%s: the next day: %v", what, err)
		}
	}
}

func TestTicketsAreUsedOnce(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	tk := mobile.Ticket{Key: "key", Nonce: "nonce", NotAfter: now.Unix() + 60}
	quota := Quota{Runs: 9}
	if err := s.admit(now, tk, quota, &record{ID: "a", Key: "key", Reserved: Quota{Runs: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.admit(now, tk, quota, &record{ID: "b", Key: "key", Reserved: Quota{Runs: 1}}); !errors.Is(err, errReplayed) {
		t.Errorf("again: %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if s, err = openStore(dir); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	// Until the ticket is not valid any more, with the difference of clocks.
	for _, after := range []time.Duration{time.Second, 60 * time.Second, 120 * time.Second} {
		if err := s.admit(now.Add(after), tk, quota, &record{ID: "c", Key: "key", Reserved: Quota{Runs: 1}}); !errors.Is(err, errReplayed) {
			t.Errorf("after a restart and %s: %v", after, err)
		}
	}
	if err := s.admit(now.Add(121*time.Second), tk, quota, &record{ID: "d", Key: "key", Reserved: Quota{Runs: 1}}); err != nil {
		t.Errorf("the ticket is still known when its time is over: %v", err)
	}
	if runs, err := s.runs(); err != nil || len(runs) != 2 {
		t.Errorf("%d runs were counted, %v", len(runs), err)
	}
}
