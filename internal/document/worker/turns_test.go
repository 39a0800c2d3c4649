package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sixty names of one domain have documents that keep a child busy for 5 s each. A small site, whose
// documents take 0.05 s, has at least 80 % of them read that are read when it is alone, and so have
// sites of several domains. Before there were turns, it had 5 of 572.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long, short = 5 * time.Second, 50 * time.Millisecond
		var reads atomic.Int64 // by children, at this time
		p := New(Options{})
		p.one = func(_ context.Context, f document.File) (document.Page, error) {
			if reads.Add(1) > 2 {
				t.Error("more documents are read than there are children")
			}
			defer reads.Add(-1)
			time.Sleep(map[string]time.Duration{"dear": long, "cheap": short}[f.Type])
			return document.Page{}, nil
		}
		count := func(good, bad int) (read []int) {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for i := range bad {
				party := fair.DomainOf(canon.Host(fmt.Sprintf("h%d.bad.example", i)))
				wg.Go(func() {
					for ctx.Err() == nil {
						_, _ = p.Read(ctx, document.File{Type: "dear"}, []fair.Party{party})
					}
				})
			}
			read = make([]int, good)
			for i := range good {
				party := fair.Registered(fmt.Sprintf("good%d.example", i))
				wg.Go(func() {
					for began := time.Now(); time.Since(began) < 10*time.Minute; read[i]++ {
						if _, err := p.Read(t.Context(), document.File{Type: "cheap"}, []fair.Party{party}); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Second) // its delay
					}
				})
			}
			time.AfterFunc(10*time.Minute, cancel)
			wg.Wait()
			time.Sleep(time.Hour) // what was used is forgotten
			return read
		}
		for _, good := range []int{1, 4} {
			alone, attacked := count(good, 0), count(good, 60)
			for i := range good {
				if attacked[i]*100 < alone[i]*80 {
					t.Errorf("site %d of %d has %d documents read, and %d without the attack", i, good, attacked[i], alone[i])
				}
			}
			t.Logf("documents read of %d sites: alone %v, attacked %v", good, alone, attacked)
		}
	})
}

// Whoever uses most of the children's time comes last, a document that cannot be read counts like
// any other, and who has no more patience leaves the queue.
func TestTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Workers: 1})
		var order []string
		p.one = func(_ context.Context, f document.File) (document.Page, error) {
			order = append(order, f.Charset)
			took, err := time.ParseDuration(f.Type)
			if err != nil {
				t.Error(err)
			}
			time.Sleep(took)
			return document.Page{}, &Unreadable{"for this test"}
		}
		var wg sync.WaitGroup
		read := func(ctx context.Context, want error, domain, took string) {
			wg.Go(func() {
				_, err := p.Read(ctx, document.File{Type: took, Charset: domain}, []fair.Party{fair.Registered(domain)})
				if its := new(Unreadable); !errors.Is(err, want) && !errors.As(err, &its) {
					t.Errorf("%s: %v", domain, err)
				}
			})
			synctest.Wait()
		}
		read(t.Context(), nil, "dear", "10s")
		read(t.Context(), nil, "cheap", "10ms")
		wg.Wait()
		read(t.Context(), nil, "other", "1s")
		for range 3 {
			read(t.Context(), nil, "dear", "10s")
		}
		ctx, cancel := context.WithCancel(t.Context())
		read(ctx, context.Canceled, "gone", "1s")
		cancel()
		for range 3 {
			read(t.Context(), nil, "cheap", "10ms")
		}
		wg.Wait()
		if got, want := fmt.Sprint(order), "[dear cheap other cheap cheap cheap dear dear dear]"; got != want {
			t.Errorf("order %s, want %s", got, want)
		}
		if !p.turns.Idle() || p.turns.Waiting() != 0 {
			t.Error("somebody still has a turn, or waits for one")
		}
	})
}

// The same with real children, and with a PDF of 2 KiB that is read until its time is over.
// While a site has ten documents read, hardly any of the others are: 1. Before there were turns,
// 590 were.
func TestTurnsOfChildren(t *testing.T) {
	var dear document.File
	for _, h := range documenttest.All() {
		if h.Name == "pdf: forms that draw forms, ten each, twelve deep" {
			dear = document.File{Type: h.Type, Body: h.Make()}
		}
	}
	p := New(Options{CPU: 200 * time.Millisecond})
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var bad atomic.Int64
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			for {
				_, err := p.Read(ctx, dear, []fair.Party{fair.Registered("bad.example")})
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Error(err)
				}
				bad.Add(1)
			}
		})
	}
	testaid.Until(t, "all of them wait", func() bool { return p.turns.Waiting() >= 58 })
	before := bad.Load()
	for range 10 {
		if _, err := p.Read(t.Context(), good, []fair.Party{fair.Registered("good.example")}); err != nil {
			t.Error(err)
		}
	}
	during := bad.Load() - before
	cancel()
	wg.Wait()
	t.Logf("a PDF of %d bytes: %d of them were read while another site had ten documents read", len(dear.Body), during)
	if during > 60 {
		t.Errorf("%d of the bad site's documents were read while ten others were", during)
	}
}
