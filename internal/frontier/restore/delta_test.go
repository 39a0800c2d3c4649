package restore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// openShard opens the file of a new shard, and owns it.
func openShard(t *testing.T) *shard.Parts {
	j, err := judge.New(crawl.Spec{Name: "c", Shards: 1, Seeds: []string{"http://a.example/"}, Scope: "any", MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := shard.New(hosts.Options{Path: filepath.Join(t.TempDir(), store.FileName(0)), Log: slog.New(slog.DiscardHandler), Judge: j})
	p.Ledger.Own(1, func() bool { return true })
	p.Ledger.Attach(io.Discard, &budget.Budget{}, store.NewMetrics(nil))
	if err := errors.Join(p.Ledger.OpenFile(false), p.Ledger.Begin(true), p.Ledger.LoadHosts()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Ledger.Tx.Rollback()
		_ = p.Ledger.CloseFile()
	})
	return p
}

// TestDeltasMakeTheFile: the deltas of a running shard, applied one after the other, give its file
// exactly; each has the size of the change; and full checkpoints are made from time to time.
func TestDeltasMakeTheFile(t *testing.T) {
	p := openShard(t)
	copies := NewCopies(p, Deltas{Least: 1}, nil)
	path := filepath.Join(t.TempDir(), "copy")
	wholes, deltas := 0, 0
	for round := range 60 {
		l := crawl.Links{Depth: 1, FoundOn: "http://a.example/"}
		n := 20
		if round == 0 {
			n = 20_000
		}
		for i := range n {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/page-%d-%d.html", i%50, round, i)))
		}
		if err := p.Events.Apply(&crawl.Event{Links: []crawl.Links{l}}, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		im, err := copies.Image()
		if err != nil {
			t.Fatal(err)
		}
		var reported, whole bytes.Buffer
		next, err := im.Copy(&reported)
		if err == nil {
			_, err = im.Tx.WriteTo(&whole)
		}
		if err != nil {
			t.Fatal(err)
		}
		im.Close()
		if im.against == nil {
			wholes++
			if !bytes.Equal(reported.Bytes(), whole.Bytes()) {
				t.Fatal("a whole copy is none")
			}
			if err := os.WriteFile(path, reported.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			deltas++
			if reported.Len() > whole.Len()/3 {
				t.Errorf("round %d: a delta of %d bytes for a file of %d", round, reported.Len(), whole.Len())
			}
			if err := os.WriteFile(path+".0", reported.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if base, err := baseOfFile(path + ".0"); err != nil || base != copies.chain.name {
				t.Fatalf("a delta to %q (%v), want %s", base, err, copies.chain.name)
			}
			if err := applyDelta(path, path+".0"); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole.Bytes()) {
				t.Fatalf("round %d: %d bytes, want %d (%v), or others", round, len(got), whole.Len(), err)
			}
		}
		copies.Recorded(next)
	}
	if wholes < 2 || deltas < 10 {
		t.Errorf("%d whole ones, %d deltas", wholes, deltas)
	}
}

// FuzzDelta applies any content of the store: the result is a file of some length, or an error.
func FuzzDelta(f *testing.F) {
	var good bytes.Buffer
	d, _ := newDiffer(&good, &Chain{name: "0-1-0-1-1"}, deltaPage)
	_, _ = d.Write(make([]byte, deltaPage))
	_ = d.end()
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-1])
	f.Add([]byte(deltaMagic))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, v []byte) {
		base, size, err := deltaBase(bufio.NewReader(bytes.NewReader(v)))
		if err != nil && !errors.Is(err, errDelta) || size > 64*deltaPage {
			return
		}
		path := filepath.Join(dir, "x")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+".0", v, 0o600)); err != nil {
			t.Fatal(err)
		}
		aerr := applyDelta(path, path+".0")
		if aerr != nil && !errors.Is(aerr, errDelta) || aerr == nil && (err != nil || base == "") {
			t.Errorf("base %q, %v; applied: %v", base, err, aerr)
		}
		if st, err := os.Stat(path); aerr == nil && (err != nil || st.Size() != size) {
			t.Errorf("a file of %d bytes, want %d", st.Size(), size)
		}
	})
}
