package control

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A changed setting and new seeds each write a line with the values before and after. There is no
// line if nothing changes, or if the crawl is new.
func TestPlanWritesLines(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		plan := func(to func(s *crawl.Spec)) Planned {
			t.Helper()
			p, err := Plan(t.Context(), c.Crawl, By{Who: "ada"}, func(old *crawl.Spec) (crawl.Spec, error) {
				s := *old
				to(&s)
				return s, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := plan(func(s *crawl.Spec) { s.Delay, s.AllowPrivate = 2*time.Second, true })
		if want := "delay 1s → 2s, allow-private false → true"; p.Settings != want || p.Seeds || p.Unlogged != nil || !p.Spec.AllowPrivate {
			t.Errorf("%+v, want settings %q", p, want)
		}
		plan(func(*crawl.Spec) {})
		p = plan(func(s *crawl.Spec) { s.Seeds = append(s.Seeds, "https://a.example/", "https://b.example/") })
		if p.Settings != "" || !p.Seeds {
			t.Errorf("%+v, want seeds", p)
		}
		logged := map[string]string{}
		for _, l := range c.lines() {
			logged[l.Action+" "+l.What] = l.Detail
			if l.Who != "ada" || l.Error != "" || l.At.IsZero() {
				t.Errorf("%+v", l)
			}
		}
		want := map[string]string{"settings settings": "delay 1s → 2s, allow-private false → true", "seed https://a.example/": "and 1 more"}
		if !reflect.DeepEqual(logged, want) {
			t.Errorf("the crawl log says %q, want %q", logged, want)
		}
		if err := c.Bucket.Purge(t.Context(), "spec"); err != nil {
			t.Fatal(err)
		}
		p, err := Plan(t.Context(), c.Crawl, By{}, func(old *crawl.Spec) (crawl.Spec, error) {
			return crawl.Spec{Name: "t", Seeds: []string{"https://a.example/"}}, nil
		})
		if err != nil || p.Seeds || p.Settings != "" || len(c.lines()) != 2 {
			t.Errorf("%+v, %v, lines %+v", p, err, c.lines())
		}
	})
}

// full fills the log of a shard until nothing more fits.
func (c *cluster) full(shard int) {
	c.t.Helper()
	for _, n := range []int{64 << 10, 1 << 10, 1} {
		for {
			_, err := c.Queue.JS.Publish(c.t.Context(), crawl.Names("t").EventsSubject(shard), make([]byte, n))
			if err != nil {
				break
			}
		}
	}
}

// A crawl with a full log can be resumed with other settings. The process that empties the log
// starts only after that, so the lines are submitted then.
func TestPlanWithAFullLog(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.full(0)
		p, err := Plan(t.Context(), c.Crawl, By{Who: "ada"}, func(old *crawl.Spec) (crawl.Spec, error) {
			s := *old
			s.MaxPages = 7
			return s, nil
		})
		if err != nil || len(p.Unlogged) != 1 || p.Unlogged[0].Detail != "max-pages no limit → 7" {
			t.Fatalf("%+v, %v", p, err)
		}
		if spec, err := service.ReadSpec(t.Context(), c.Bucket); err != nil || spec.MaxPages != 7 {
			t.Errorf("%d pages, %v", spec.MaxPages, err)
		}
		st, err := c.Queue.JS.Stream(t.Context(), crawl.Names("t").EventsStream(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := Notify(t.Context(), c.Crawl, p.Unlogged); err != nil {
			t.Fatal(err)
		}
		m, err := st.GetLastMsgForSubject(t.Context(), crawl.Names("t").EventsSubject(0))
		if err != nil {
			t.Fatal(err)
		}
		if ev, err := crawl.DecodeEvent(m.Data); err != nil || len(ev.Audits) != 1 || ev.Audits[0].ID != p.Unlogged[0].ID {
			t.Errorf("%+v, %v", ev, err)
		}
	})
}

// An operator who has no more time gets an error from a crawl with a full log, and does not wait.
func TestWhoeverHasNoTimeIsNotKeptByAFullLog(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.full(0)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := Pause(ctx, c.Crawl, By{Who: "ada"}); err == nil {
			t.Error("paused, without a line that says so")
		}
		if took := time.Since(began); took > 2*logPatience {
			t.Errorf("it waited for %v for capacity in the log", took)
		}
	})
}

// Each setting that a command may change is in the line about the change.
func TestEachSettingIsLogged(t *testing.T) {
	others := map[string]bool{ // never changed, or changed by actions with lines of their own
		"Name": true, "Shards": true, "Created": true, "Seeds": true, "PlanOnly": true, "Hosts": true, "EverySince": true, "UpdatesOff": true,
		"UpdatesPrefer": true, "Forgotten": true, "Reindex": true, "SearchRules": true,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[crawl.Spec]()) {
		if f.Anonymous {
			continue // its fields follow
		}
		var was, is crawl.Spec
		field := reflect.ValueOf(&is).Elem().FieldByIndex(f.Index)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int, reflect.Int64:
			field.SetInt(5)
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"x"}))
		default:
			if !others[f.Name] {
				t.Errorf("%s is of a kind that this test does not know", f.Name)
			}
			continue
		}
		if text := differences(&was, &is); (len(text) != 1) != others[f.Name] || len(text) == 1 && !strings.Contains(text[0], " → ") {
			t.Errorf("%s: %q", f.Name, text)
		}
	}
}
