package queryreport

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/query"
)

// The limits of a record.
const (
	MaxQuery   = 200    // bytes of a query; longer ones are not recorded
	MaxURL     = 300    // bytes of the URL of an opened hit; longer ones are counted without it
	MaxOpened  = 8      // URLs of hits that were opened after a query, a day
	MaxQueries = 50_000 // queries and days in the file; beyond it the rarest are removed
	MaxDays    = 90     // days for which queries are kept
	maxPending = 5000   // queries counted between two writes; others are dropped
)

const (
	writeEvery    = 10 * time.Second
	completeEvery = 30 // writes after which the completions are read again
	// How often, and on how many days, a query must have been asked that others are offered: what
	// one person pastes a few times is nobody else's business.
	leastAsked  = 3
	leastDays   = 2
	maxComplete = 2000
)

// File is the name of the record in a data directory.
func File(dir string) string { return filepath.Join(dir, "queries.db") }

// Opened is a hit that was opened after a query.
type Opened struct {
	URL  string `json:"url"`
	Rank int    `json:"rank"` // when it was last opened: 1 is the first hit
	N    int64  `json:"n"`    // how often
}

// Counts are what is known of a query, of one day or of several.
type Counts struct {
	Asked int64 `json:"asked"` // how often, further pages of an answer not counted
	None  int64 `json:"none,omitempty"`
	// Listed is how often hits were shown whose opening is counted: those of the search page.
	Listed int64 `json:"listed,omitempty"`
	Total  int64 `json:"total"` // pages of the last answer
	// Opens is how often a hit was opened. Opened are those hits, most opened first; some may be
	// missing.
	Opens  int64    `json:"opens,omitempty"`
	Opened []Opened `json:"opened,omitempty"`
}

// add adds later counts.
func (c *Counts) add(later Counts) {
	if later.Asked > 0 {
		c.Total = later.Total
	}
	c.Asked += later.Asked
	c.None += later.None
	c.Listed += later.Listed
	c.Opens += later.Opens
	for _, o := range later.Opened {
		c.open(o)
	}
}

func (c *Counts) open(o Opened) {
	i := slices.IndexFunc(c.Opened, func(have Opened) bool { return have.URL == o.URL })
	switch {
	case i >= 0:
		c.Opened[i].N += o.N
		c.Opened[i].Rank = o.Rank
	case len(c.Opened) < MaxOpened:
		c.Opened = append(c.Opened, o)
	default:
		return
	}
	slices.SortStableFunc(c.Opened, func(a, b Opened) int { return cmp.Compare(b.N, a.N) })
}

// Report counts queries. Its methods may be called from many goroutines.
type Report struct {
	path string
	max  int // queries and days in the file
	log  *slog.Logger

	mu       sync.Mutex // guards the rest
	pending  map[key]*Counts
	err      error
	complete []string // queries to offer, most frequent first
}

// key is a query on a day.
type key struct{ day, query string }

// New makes a Report for a data directory, which is made when it is needed. Nothing is written
// before Run.
func New(dir string, log *slog.Logger) *Report {
	return &Report{path: File(dir), max: MaxQueries, log: log, pending: map[key]*Counts{}}
}

// Normal is the spelling under which a query is recorded: the canonical one, in lower case where it
// means the same. It is empty for queries that are not recorded.
func Normal(q query.Query) string {
	text := q.String()
	lower := q
	lower.Groups = slices.Clone(q.Groups)
	for i, g := range lower.Groups {
		lower.Groups[i].Any = lowered(g.Any)
	}
	lower.Not = lowered(q.Not)
	if s := lower.String(); q.Schema().Parse(s).String() == s {
		text = s
	}
	if q.Empty() || len(text) > MaxQuery {
		return ""
	}
	return text
}

func lowered(atoms []query.Atom) []query.Atom {
	atoms = slices.Clone(atoms)
	for i := range atoms {
		atoms[i].Text = strings.ToLower(atoms[i].Text)
	}
	return atoms
}

// Asked counts a query, in its Normal spelling, whose answer has a number of pages. listed reports
// that its hits are shown with links whose opening is counted.
func (r *Report) Asked(normal string, total int64, listed bool) {
	c := Counts{Asked: 1, Total: total}
	if total == 0 {
		c.None = 1
	} else if listed {
		c.Listed = 1
	}
	r.count(normal, c)
}

// Opened counts a hit of a query that was opened; the rank of the first hit is 1.
func (r *Report) Opened(normal, url string, rank int) {
	c := Counts{Opens: 1}
	if len(url) <= MaxURL && rank > 0 {
		c.Opened = []Opened{{url, rank, 1}}
	}
	r.count(normal, c)
}

func (r *Report) count(normal string, c Counts) {
	if normal == "" || len(normal) > MaxQuery {
		return
	}
	k := key{time.Now().UTC().Format(time.DateOnly), normal}
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.pending[k]
	if have == nil {
		if len(r.pending) >= maxPending {
			return
		}
		have = &Counts{}
		r.pending[k] = have
	}
	have.add(c)
}

// Err says why the counts cannot be written at the moment; nil if they can.
func (r *Report) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Completions returns at most n queries that begin with a prefix, most frequent first: only those
// that were asked three times or more and have results.
func (r *Report) Completions(prefix string, n int) (list []string) {
	prefix = strings.ToLower(strings.TrimLeft(prefix, " "))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.complete {
		if len(list) < n && strings.HasPrefix(strings.ToLower(q), prefix) {
			list = append(list, q)
		}
	}
	return list
}

// Run writes the counts to the file until ctx ends. It never fails: trouble with the file is logged
// once, and the counts are kept for the next attempt.
func (r *Report) Run(ctx context.Context) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%completeEvery == 0 {
			r.readCompletions()
		}
		select {
		case <-ctx.Done():
			r.write()
			return nil
		case <-tick.C:
			r.write()
		}
	}
}

// write adds the counts to the file.
func (r *Report) write() {
	r.mu.Lock()
	pending := r.pending
	r.pending = map[key]*Counts{}
	had := r.err
	r.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	err := addTo(r.path, pending, r.max)
	if err != nil && had == nil {
		r.log.Error("queries are not recorded; searches go on", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if err == nil {
		return
	}
	for k, c := range pending { // they precede what was counted meanwhile
		if have := r.pending[k]; have != nil {
			c.add(*have)
		} else if len(r.pending) >= maxPending {
			continue
		}
		r.pending[k] = c
	}
}

// readCompletions reads the frequent queries of the file.
func (r *Report) readCompletions() {
	all, err := Read(r.path, 0)
	if err != nil {
		return // write reports trouble, and without a file there are none
	}
	all = Select(all, Frequent)
	var list []string
	for _, q := range all {
		if q.Asked >= leastAsked && q.Days >= leastDays && q.Total > 0 && len(list) < maxComplete {
			list = append(list, q.Query)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = list
}
