package pages

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	onX = "https://x.example/"
	onM = "https://m.example/"
)

func alias(u string, visit uint64, of string) crawl.Page {
	return crawl.Page{Kind: crawl.KindAlias, URL: canon.URL(u), AliasOf: canon.URL(of), Visit: crawl.VisitID{Epoch: 1, N: visit}}
}

func glue(t testing.TB, s *Store, words ...crawl.Page) {
	t.Helper()
	if err := s.Alias(words); err != nil {
		t.Fatal(err)
	}
}

// word returns the message that is sent for a queued message.
func (l OutboxMessage) word() crawl.Page {
	p := crawl.Page{Kind: crawl.KindAlias, URL: l.URL, AliasOf: l.AliasOf, Visit: l.Visit, Renewed: l.MainKnown}
	if l.Gone {
		p.Deleted = crawl.ReasonMirror
	}
	return p
}

// deliver sends queued messages between stores until there are none.
func deliver(t testing.TB, stores ...*Store) {
	t.Helper()
	for again := true; again; {
		again = false
		for _, s := range stores {
			queued, err := s.Outbox().First(3)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range queued {
				again = true
				for _, to := range stores {
					if to != s {
						glue(t, to, l.word())
					}
				}
			}
			if err := s.Outbox().Sent(queued); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func listed(t testing.TB, stores ...*Store) (all []string) {
	t.Helper()
	for _, s := range stores {
		if err := s.Each(func(p Page) error {
			line := string(p.URL)
			for _, a := range p.Aliases {
				line += " = " + string(a)
			}
			all = append(all, line)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

func wantListed(t testing.TB, stores []*Store, want ...string) {
	t.Helper()
	if got := listed(t, stores...); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

// two opens the stores of two shards, one for each host, or one store for both.
func two(t testing.TB, apart bool) (x, m *Store, all []*Store) {
	t.Helper()
	if !apart {
		s := openTemp(t)
		return s, s, []*Store{s}
	}
	open := func(name string, hosts ...canon.Host) *Store {
		s, err := Open(filepath.Join(t.TempDir(), name), Options{Mine: func(h canon.Host) bool { return slices.Contains(hosts, h) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Check(); err != nil {
				t.Errorf("Check: %v", err)
			}
			s.Close()
		})
		return s
	}
	x, m = open("pages-0.db", "x.example"), open("pages-1.db", "m.example")
	return x, m, []*Store{x, m}
}

// A merge that becomes known late and is then undone, step by step.
func TestAlias(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprintf("apart %v", apart), func(t *testing.T) {
			x, m, all := two(t, apart)
			put(t, x, page(onX, 1, "root"), page(onX+"a", 1, "a"))
			put(t, m, page(onM, 1, "root"))
			glue(t, x, alias(onX, 3, onM), alias(onX+"a", 3, onM+"a"))
			deliver(t, all...)
			wantListed(t, all, onM+" = "+onX)
			if _, ok, _ := x.Get(onX); ok {
				t.Error("the copy is kept although the main page is stored")
			}
			if of, err := x.AliasOf(onX); of != onM || err != nil {
				t.Errorf("AliasOf = %s, %v", of, err)
			}
			if p, ok, _ := x.Get(onX + "a"); !ok || p.AliasOf != onM+"a" || len(p.Body) == 0 {
				t.Errorf("the copy that stands in: %v, %+v", ok, p)
			}
			before := x.Stats().LastSeq
			put(t, m, page(onM+"a", 5, "a"))
			deliver(t, all...)
			wantListed(t, all, onM+" = "+onX, onM+"a = "+onX+"a")
			if ch := changes(t, x, before); !slices.ContainsFunc(ch, func(p Page) bool { return p.URL == onX+"a" && p.Deleted == crawl.ReasonMirror }) {
				t.Errorf("search is not told: %+v", ch)
			}
			// Replays and late messages change nothing.
			put(t, x, page(onX, 1, "root"), page(onX+"a", 2, "late"))
			glue(t, x, alias(onX, 3, onM), alias(onX+"a", 1, ""))
			deliver(t, all...)
			wantListed(t, all, onM+" = "+onX, onM+"a = "+onX+"a")
			if st := x.Stats(); apart && (st.Pages != 0 || st.Tombstones != 2 || st.Bytes != 0) {
				t.Errorf("%+v", st)
			}
			// It is undone: what is left is a page again, and the rest is fetched again.
			glue(t, x, alias(onX, 4, ""), alias(onX+"a", 4, ""))
			deliver(t, all...)
			wantListed(t, all, onM, onM+"a")
			put(t, x, page(onX+"a", 5, "a"))
			wantListed(t, all, onM, onM+"a", onX+"a")
			glue(t, x, alias(onX+"a", 3, onM+"a"))
			deliver(t, all...)
			wantListed(t, all, onM, onM+"a", onX+"a")
			// A newer page is a page of its own again by itself, and a main page may change.
			glue(t, x, alias(onX, 6, onM), alias(onX+"a", 6, onM+"a"))
			deliver(t, all...)
			put(t, x, page(onX, 7, "own"))
			glue(t, x, alias(onX+"a", 7, onM))
			deliver(t, all...)
			wantListed(t, all, onM+" = "+onX+"a", onM+"a", onX)
		})
	}
}

// A copy that is still stored when a merge is undone is a page again at once.
func TestAliasUndoneBeforeTheMainCame(t *testing.T) {
	s := openTemp(t)
	p := page(onX, 1, "root")
	p.Claims = []byte("c")
	put(t, s, p)
	glue(t, s, alias(onX, 2, onM))
	wantListed(t, []*Store{s})
	if st := s.Stats(); st.Pages != 0 || st.Tombstones != 1 {
		t.Errorf("%+v", st)
	}
	again := renewal(onX, 3) // fetched by a visit that began before
	glue(t, s, alias(onX, 4, ""))
	put(t, s, again)
	wantListed(t, []*Store{s}, onX)
	if st := s.Stats(); st.Pages != 1 || st.Tombstones != 0 || st.Bytes != 4 {
		t.Errorf("%+v", st)
	}
}

// The number of aliases that are read is limited.
func TestManyAliases(t *testing.T) {
	s := openTemp(t)
	put(t, s, page(onM, 1, "root"))
	var words []crawl.Page
	for i := range 2 * maxAliases {
		words = append(words, alias(fmt.Sprintf("https://x%d.example/", i), 1, onM))
	}
	glue(t, s, words...)
	if p, ok, err := s.Get(onM); !ok || err != nil || len(p.Aliases) != maxAliases {
		t.Errorf("%d aliases, %v, %v", len(p.Aliases), ok, err)
	}
}

// Messages between stores arrive in any order, some twice, in one store and in two. The newest
// report about a page and about its being an alias counts.
func TestAliasInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 80 {
		x, m, all := two(t, round%2 == 0)
		type known struct {
			page, alias uint64 // visits
			body, of    string
			stoodDown   bool // its copy may have gone to one that was held
		}
		want := map[canon.URL]*known{}
		var batch []func()
		visit := uint64(0)
		for i := range 4 {
			u := fmt.Sprint(onX, i)
			k := &known{}
			want[canon.URL(u)] = k
			for range 1 + rng.IntN(5) {
				visit++
				switch v := visit; rng.IntN(5) {
				case 0, 1:
					body := fmt.Sprint("body ", v)
					batch = append(batch, func() { put(t, x, page(u, v, body)) })
					k.page, k.body = v, body
				case 2:
					batch = append(batch, func() { put(t, x, gone(u, v, crawl.ReasonHTTP4xx)) })
					k.page, k.body = v, ""
				default:
					of := []string{"", onM + "held", onM + "never"}[rng.IntN(3)]
					batch = append(batch, func() { glue(t, x, alias(u, v, of)) })
					k.alias, k.of = v, of
					k.stoodDown = k.stoodDown || of == onM+"held"
				}
			}
		}
		batch = append(batch, func() { put(t, m, page(onM+"held", 1, "main")) }, func() { put(t, m, page(onM+"held", 2, "main")) })
		batch = append(batch, batch[:len(batch)/2]...)
		rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		for _, do := range batch {
			do()
			if rng.IntN(3) == 0 {
				deliver(t, all...)
			}
		}
		deliver(t, all...)
		var held, never, pages []string
		for _, u := range slices.Sorted(maps.Keys(want)) {
			k := want[u]
			p, ok, err := x.Get(u)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := p.Unpack(nil)
			of, _ := x.AliasOf(u)
			isAlias := k.alias > k.page && k.of != ""
			switch {
			case isAlias != (of != "") || isAlias && string(of) != k.of:
				t.Errorf("round %d: %s is an alias of %q, want %q", round, u, of, k.of)
			case isAlias && k.of == onM+"held":
				held = append(held, string(u))
				if ok {
					t.Errorf("round %d: the copy of %s is kept", round, u)
				}
			default:
				if k.of == onM+"never" && isAlias {
					never = append(never, string(u))
				} else if ok {
					pages = append(pages, string(u))
				}
				if k.alias > k.page && k.stoodDown && !ok {
					break // it was glued to a page that is held, in between
				}
				if ok != (k.body != "") || string(body) != k.body {
					t.Errorf("round %d: %s has %q, want %q", round, u, body, k.body)
				}
			}
		}
		main := onM + "held"
		for _, u := range held {
			main += " = " + u
		}
		pages = append(pages, main)
		slices.Sort(pages)
		wantListed(t, all, pages...)
		err := m.db.View(func(tx *bolt.Tx) error {
			got, err := readAliases(tx.Bucket(bucketAliases), appendKey(nil, onM+"never"), 100)
			var names []string
			for _, u := range got {
				names = append(names, string(u))
			}
			if !reflect.DeepEqual(names, never) {
				t.Errorf("round %d: aliases of what was never stored %q, want %q", round, names, never)
			}
			return err
		})
		if err != nil || t.Failed() {
			t.Fatal(err)
		}
	}
}
