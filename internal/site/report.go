package site

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// reports makes reports from the log. It is also the rup.Index of the Server.
type reports struct {
	db     *boltfile.File
	names  names
	base   *url.URL // with a final slash
	robots string   // file with the site's robots.txt
	most   int      // paths in one report
}

// listing decides what the report for one robot lists: it returns the URL of a path, or false if
// the robot must not or does not want to see it.
type listing func(rel string) (u string, ok bool)

// listed makes a listing for a filter, or without one if it is nil, by the current robots.txt.
func (r *reports) listed(filter *rup.Filter) (listing, error) {
	open, err := open(r.robots, r.base)
	if err != nil {
		return nil, err
	}
	base, prefix := r.base.String(), r.base.EscapedPath()
	return func(rel string) (string, bool) {
		path := r.names.url(rel)
		u := base + path
		return u, r.names.announced(rel) && open(prefix+path) && (filter == nil || filter.Wants(u))
	}, nil
}

// Changes implements rup.Index. It yields each URL once, with the net effect of its changes.
func (r *reports) Changes(_ context.Context, since time.Time, yield func(rup.Entry) error) error {
	list, err := r.listed(nil)
	if err != nil {
		return err
	}
	return r.db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(metaBaseline) == nil {
			return &rup.Error{Status: 503, Reason: "the site is being read for the first time", RetryAfter: time.Minute}
		}
		for from, done := position(uint64(max(since.UnixNano(), 0))), false; !done; {
			var entries []rup.Entry
			if entries, from, done, err = entriesSince(tx, from, r.most, list); err != nil {
				return err
			}
			for _, e := range entries {
				if err := yield(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// next makes the next report to a robot that has all changes before p.Since, and returns the
// position where it ends. done is false if there are more changes than one report may have.
func (r *reports) next(tx *bolt.Tx, reg rup.Registration, p progress) (text, upTo []byte, done bool, err error) {
	filter, err := rup.NewFilter(reg.Exclude, reg.IncludeOnly)
	if err != nil {
		return nil, nil, false, fmt.Errorf("filter: %w", err)
	}
	list, err := r.listed(filter)
	if err != nil {
		return nil, nil, false, err
	}
	report := &rup.Report{Sequence: reg.Sequence + 1, Base: r.base.String()}
	if report.Entries, upTo, done, err = entriesSince(tx, p.Since, r.most, list); err != nil {
		return nil, nil, false, err
	}
	text, left := report.Text()
	if len(left) > 0 {
		return nil, nil, false, fmt.Errorf("%d changes cannot be written, the first %s: %s", len(left), left[0].Path, left[0].Reason)
	}
	return text, upTo, done, nil
}

func entriesSince(tx *bolt.Tx, since []byte, most int, list listing) (entries []rup.Entry, upTo []byte, done bool, err error) {
	changes, upTo, done, err := fold(tx, since, most, func(rel string) bool {
		_, ok := list(rel)
		return ok
	})
	kinds := map[kind]rup.Kind{added: rup.New, changed: rup.Change, deleted: rup.Delete}
	for _, c := range changes {
		u, _ := list(c.rel)
		entries = append(entries, rup.Entry{URL: u, Kind: kinds[c.kind], Date: c.at})
	}
	return entries, upTo, done, err
}

// keepFrom returns the position before which the log is no longer needed: queries reach back for
// span, and every robot's next report reaches back to its previous one.
func keepFrom(tx *bolt.Tx, now time.Time, span time.Duration) ([]byte, error) {
	// A machine without a clock of its own begins in 1970, and must not purge everything.
	from := position(uint64(max(now.Add(-span).UnixNano(), 0)))
	err := each(tx.Bucket(bucketProgress), func(_ []byte, p progress) error {
		if bytes.Compare(p.Since, from) < 0 {
			from = p.Since
		}
		return nil
	})
	return from, err
}

// parseBase parses the URL of the site, and adds a final slash.
func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("base %q: must be the http or https URL at which the root is served, for example https://www.example.org/", raw)
	}
	u.Host = strings.ToLower(u.Host)
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		h, err := canon.ParseHost(u.Hostname()) // robots know the name as xn--…
		if err != nil {
			return nil, fmt.Errorf("base %q: the host is not one at which the root can be served: %w", raw, err)
		}
		u.Host = strings.TrimSuffix(string(h)+":"+u.Port(), ":")
	}
	if !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	return u, nil
}
