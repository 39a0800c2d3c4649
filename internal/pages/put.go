package pages

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Result counts what Put did with a batch. The fields add up to the length of the batch.
type Result struct {
	Stored    int // new, or with new content
	Unchanged int // stored already, with the same content
	Deleted   int // removed, or recorded as not to be stored
	// Not newer than what is known: a replay, a late page, the older of two in the batch.
	Late    int
	Missing int // reported as unchanged, but without a stored copy; a message is queued for each
}

// write is one page that is being written.
type write struct {
	key  []byte
	page Page
	old  Page // what was known; Seq and ID are 0 if nothing was
	had  bool // old is a stored page
	body bool // the body is new
	// A page only got a new number, because its aliases changed. It is not a page of the batch.
	numbered bool
}

// change is a write transaction.
type change struct {
	s             *Store
	tx            *bolt.Tx
	c             counters
	live          []*write // everything that was applied
	claimsChanged bool     // what is stored about datasets has changed
	queued        int64    // how many messages were queued
}

// update runs one write transaction with one fsync. After an error nothing has changed.
func (s *Store) update(what func() string, do func(*change) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	before := s.counters.Load()
	ch := change{s: s, c: *before}
	var recent []byte
	err := s.write(func(tx *bolt.Tx) error {
		if err := s.digests.load(tx); err != nil {
			return err
		}
		ch.tx = tx
		if err := do(&ch); err != nil {
			return err
		}
		if ch.c != *before {
			if err := putCounters(tx.Bucket(bucketAbout), &ch.c); err != nil {
				return err
			}
		}
		var err error
		recent, err = s.digests.add(tx, ch.live, &ch.c)
		return err
	})
	if err != nil {
		return s.writeError(what(), err)
	}
	s.counters.Store(&ch.c)
	s.digests.set(recent)
	if ch.claimsChanged {
		s.datasets.changes.Add(1)
	}
	s.outbox.committed(ch.queued)
	if ch.c.LastSeq != before.LastSeq {
		s.feed.added.give()
	}
	return nil
}

// Put stores a batch in one transaction with one fsync: when it returns nil, the batch is on disk.
// Of several copies of a URL, in the batch and in the file, the newest visit counts. To put a batch
// again changes nothing. A page that is Deleted or has the NoIndex directive removes the stored
// copy and leaves a tombstone. A page that is Renewed leaves the stored copy, with its new date and
// with the directives of the header if there are any. Bodies are not copied: the caller must not
// change them until Put returns. After an error nothing of the batch is stored.
func (s *Store) Put(batch []Page) (Result, error) { return s.PutAlong(batch, nil) }

// PutAlong is Put, and calls along in the same transaction with a bucket of its own, to write what
// belongs to the batch. counted are the pages of the batch that changed something, as they are now:
// Deleted is set if a page is not stored, and a Renewed page has the content that it had before. A
// replay has none of them. An error of along ends the transaction.
func (s *Store) PutAlong(batch []Page, along func(own *bolt.Bucket, counted []*Page) error) (Result, error) {
	var res Result
	if len(batch) == 0 && along == nil {
		return res, nil
	}
	writes, renewals := arrange(batch)
	res.Late = len(batch) - len(writes) - len(renewals)
	err := s.update(func() string { return fmt.Sprintf("store %d pages", len(batch)) }, func(ch *change) error {
		if err := ch.put(writes, &res); err != nil {
			return err
		}
		for i := range renewals { // each depends on the state before it
			if err := ch.put(renewals[i:i+1], &res); err != nil {
				return err
			}
		}
		if along == nil {
			return nil
		}
		own, err := ch.tx.CreateBucketIfNotExists(bucketAlong)
		if err != nil {
			return err
		}
		counted := make([]*Page, 0, len(ch.live))
		for _, w := range ch.live {
			if !w.numbered {
				counted = append(counted, &w.page)
			}
		}
		return along(own, counted)
	})
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// Along reads what along of PutAlong wrote. own is nil if it never wrote anything.
func (s *Store) Along(read func(own *bolt.Bucket) error) error {
	return s.view(func(tx *bolt.Tx) error { return read(tx.Bucket(bucketAlong)) })
}

// bucketAlong is the bucket of the caller of PutAlong. It is made when it is first needed.
var bucketAlong = []byte("archive")

// arrange sorts a batch by key, because neighbouring keys share a leaf, and keeps the newest page
// of each URL. Renewals are returned separately, oldest first.
func arrange(batch []Page) (writes, renewals []write) {
	writes = make([]write, 0, len(batch))
	keys := make([]byte, 0, 96*len(batch))
	for i := range batch {
		from := len(keys)
		keys = appendKey(keys, batch[i].URL)
		w := write{key: keys[from:len(keys):len(keys)], page: batch[i]}
		if w.page.Renewed {
			renewals = append(renewals, w)
		} else {
			writes = append(writes, w)
		}
	}
	slices.SortStableFunc(writes, func(a, b write) int {
		return cmp.Or(bytes.Compare(a.key, b.key), b.page.Visit.Compare(a.page.Visit))
	})
	slices.SortStableFunc(renewals, func(a, b write) int {
		return cmp.Or(bytes.Compare(a.key, b.key), a.page.Visit.Compare(b.page.Visit))
	})
	return slices.CompactFunc(writes, func(a, b write) bool { return bytes.Equal(a.key, b.key) }), renewals
}

// put decides about writes to different URLs and applies them.
func (ch *change) put(writes []write, res *Result) error {
	live, err := ch.compare(writes, res)
	if err != nil {
		return err
	}
	return ch.apply(live)
}

// compare compares each write with what is known about its URL. It returns the writes that change
// something, with their numbers.
func (ch *change) compare(writes []write, res *Result) ([]*write, error) {
	live := make([]*write, 0, len(writes))
	for i := range writes {
		w := &writes[i]
		p := &w.page
		if err := ch.read(w); err != nil {
			return nil, err
		}
		if p.Visit.Compare(w.old.Visit) <= 0 && w.old.ID != 0 {
			res.Late++
			continue
		}
		if p.Renewed {
			again, err := ch.renewed(w)
			if err != nil {
				return nil, err
			}
			if !again {
				res.Missing++
				continue
			}
		}
		p.applyTitle()
		p.ID, p.Seq = w.old.ID, w.old.Seq
		if p.ID == 0 {
			ch.c.LastID++
			p.ID = ch.c.LastID
		}
		if p.Since = p.FetchedAt; w.had && p.SHA256 == w.old.SHA256 {
			p.Since = w.old.Since
		}
		p.AliasOf, p.aliasVisit, p.mainKnown = "", crawl.VisitID{}, false
		if w.old.aliasVisit.Compare(p.Visit) > 0 {
			p.AliasOf, p.aliasVisit, p.mainKnown = w.old.AliasOf, w.old.aliasVisit, w.old.mainKnown
		}
		switch {
		case p.Deleted != "":
		case p.Directives&crawl.NoIndex != 0:
			p.Deleted = crawl.ReasonNoindex
		case p.AliasOf != "" && p.mainKnown:
			p.Deleted = crawl.ReasonMirror
		}
		switch {
		case p.Deleted != "":
			res.Deleted++
			ch.drop(w)
			if err := ch.reportGone(w); err != nil {
				return nil, err
			}
		case w.had && p.sameContent(&w.old):
			res.Unchanged++
			p.Encoding, p.Packed, p.claimed = w.old.Encoding, w.old.Packed, w.old.claimed && p.Renewed || p.Claims != nil
			if !p.shownAs(&w.old) {
				ch.c.LastSeq++
				p.Seq = ch.c.LastSeq
			}
		case p.Renewed: // the body is the same, but its directives may have changed
			res.Stored++
			ch.c.LastSeq++
			p.Seq = ch.c.LastSeq
		default:
			res.Stored++
			ch.c.LastSeq++
			p.Seq, p.Packed, p.claimed, w.body = ch.c.LastSeq, len(p.Body), p.Claims != nil, true
		}
		live = append(live, w)
	}
	return live, nil
}

// reportGone notifies the frontier about a page that it believes to be stored, because the fetcher
// could not know otherwise. Renewed pages are handled elsewhere.
func (ch *change) reportGone(w *write) error {
	p := &w.page
	switch {
	case p.Deleted == crawl.ReasonUnreadable:
		return ch.enqueue(OutboxMessage{Kind: OutboxUnreadable, URL: p.URL, Visit: p.Visit})
	case p.Deleted == crawl.ReasonSiteRule && p.SkippedBy != "":
		return ch.enqueue(OutboxMessage{Kind: OutboxSkipped, URL: p.URL, Visit: p.Visit, Why: p.SkippedBy, Rules: p.Ruled.Rules})
	case p.Late:
		return ch.enqueue(OutboxMessage{Kind: OutboxRemoved, URL: p.URL, Visit: p.Visit})
	}
	return nil
}

// Quarantine removes the copy of a page that could not be read, if the copy is from that visit or
// an older one, and notifies the frontier. It reports whether there was a copy.
func (s *Store) Quarantine(u canon.URL, visit crawl.VisitID) (bool, error) {
	removed := false
	err := s.update(func() string { return "quarantine " + string(u) }, func(ch *change) error {
		w := &write{key: appendKey(nil, u), page: Page{Page: crawl.Page{URL: u}}}
		if err := ch.read(w); err != nil || !w.had || w.old.Visit.Compare(visit) > 0 {
			return err
		}
		removed = true
		w.page = w.old
		w.page.Deleted = crawl.ReasonUnreadable
		ch.drop(w)
		if err := ch.enqueue(OutboxMessage{Kind: OutboxUnreadable, URL: u, Visit: w.old.Visit}); err != nil {
			return err
		}
		return ch.apply([]*write{w})
	})
	return removed && err == nil, err
}

// read reads what is known about the URL of a write.
func (ch *change) read(w *write) error {
	b := ch.tx.Bucket(bucketMeta).Get(w.key)
	if b == nil {
		return nil
	}
	old, err := parseRecord(w.page.URL, b)
	w.old, w.had = old, old.Deleted == ""
	return err
}

// drop gives a deletion its number in the change feed. A page that never was stored gets none,
// because followers have nothing to remove.
func (ch *change) drop(w *write) {
	if w.had {
		ch.c.LastSeq++
		w.page.Seq = ch.c.LastSeq
	}
}

// renewed turns the report "the page is unchanged" into the page as it is now (formats §4.2): with
// the new date, and with the directives of the header replaced if the response had any. ok is false
// if there is no copy; then the frontier is notified.
func (ch *change) renewed(w *write) (ok bool, err error) {
	said := w.page
	if !w.had {
		w.page = Page{Page: crawl.Page{URL: said.URL, Visit: said.Visit, FetchedAt: said.FetchedAt, Deleted: w.old.Deleted}}
		switch {
		case w.old.AliasOf != "" && w.old.aliasVisit.Compare(said.Visit) > 0:
			return true, nil // the main page is stored
		case w.old.Deleted == crawl.ReasonNoindex && (!said.Tagged || said.Directives&crawl.NoIndex != 0 || said.Expired(said.FetchedAt)):
			return true, nil // it must still not be stored
		}
		return false, ch.enqueue(OutboxMessage{Kind: OutboxMissing, URL: said.URL, Visit: said.Visit})
	}
	p := w.old
	p.Visit, p.FetchedAt, p.Renewed, p.Late, p.Capture = said.Visit, said.FetchedAt, true, said.Late, said.Capture
	if said.ETag != "" {
		p.ETag = said.ETag
	}
	if said.LastModified != "" {
		p.LastModified = said.LastModified
	}
	if said.Tagged {
		p.Directives = said.Directives | p.MetaDirectives
		p.UnavailableAfter = earlier(said.UnavailableAfter, p.MetaUnavailableAfter)
		p.MaxSnippet = smaller(said.MaxSnippet, p.MetaMaxSnippet)
	}
	p.Usage = p.Usage.Renew(said.Usage, said.Tagged)
	if p.Usage.Preferences().Forbid(said.Purposes) {
		// Together they forbid what neither forbids alone, so the fetcher could not know. The page
		// is requested once more, and then the fetcher knows.
		w.page = p
		w.page.Deleted = crawl.ReasonUsage
		return true, ch.enqueue(OutboxMessage{Kind: OutboxMissing, URL: said.URL, Visit: said.Visit})
	}
	if p.Expired(said.FetchedAt) && p.Directives&crawl.NoIndex == 0 {
		p.Directives |= crawl.NoIndex
		if said.Directives&crawl.NoIndex == 0 { // the fetcher could not know
			err = ch.enqueue(OutboxMessage{Kind: OutboxRemoved, URL: said.URL, Visit: said.Visit})
		}
	}
	w.page = p
	return true, err
}

// earlier returns the earlier of two times. A zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// smaller returns the smaller of two limits. A limit of zero does not count.
func smaller(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// apply writes bucket by bucket, each in the order of its keys, and then the consequences for
// aliases.
func (ch *change) apply(live []*write) error {
	meta, bodies, changes := ch.tx.Bucket(bucketMeta), ch.tx.Bucket(bucketBodies), ch.tx.Bucket(bucketChanges)
	expires, claims := ch.tx.Bucket(bucketExpires), ch.tx.Bucket(bucketClaims)
	// The numbers only increase, so full leaves never change again and need no free space.
	bodies.FillPercent, changes.FillPercent = 1, 1
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, w := range live {
		// It became an alias, or is none any more.
		if w.page.Seq == w.old.Seq && w.page.listed() != w.old.listed() {
			ch.c.LastSeq++
			w.page.Seq = ch.c.LastSeq
		}
		w.date(now)
		if w.claimsDiffer(claims) {
			w.page.Changed = now
		}
		if err := meta.Put(w.key, appendRecord(nil, &w.page)); err != nil {
			return err
		}
		count(&ch.c, w)
		if w.page.Seq != w.old.Seq {
			if w.old.Seq != 0 {
				if err := changes.Delete(be64(w.old.Seq)); err != nil {
					return err
				}
			}
			if err := changes.Put(be64(w.page.Seq), w.key); err != nil {
				return err
			}
		}
		if err := applyExpiry(expires, w); err != nil {
			return err
		}
		// The statements of a page may also count for an alias now, if its tags or its date have
		// changed.
		ch.claimsChanged = ch.claimsChanged || w.old.claimed || w.page.claimed
		if err := applyClaims(claims, w); err != nil {
			return err
		}
		if err := applyParts(ch.tx.Bucket(bucketParts), claims, w); err != nil {
			return err
		}
	}
	ch.live = append(ch.live, live...)
	byNumber := slices.SortedFunc(slices.Values(live), func(a, b *write) int { return cmp.Compare(a.page.ID, b.page.ID) })
	for _, w := range byNumber {
		var err error
		switch {
		case w.body:
			err = bodies.Put(be64(w.page.ID), w.page.Body)
		case w.had && w.page.Deleted != "":
			err = bodies.Delete(be64(w.page.ID))
		}
		if err != nil {
			return err
		}
	}
	for _, w := range live {
		if err := ch.followAliases(w); err != nil {
			return err
		}
	}
	return nil
}

// neverListed is Page.Changed of a URL that never had a page of its own here: its first page was
// refused, or it has always been an alias.
var neverListed = time.UnixMilli(1).UTC()

// date sets when the stored page, or whether it is stored, last changed.
func (w *write) date(now time.Time) {
	p, old := &w.page, &w.old
	if !p.listed() && (old.ID == 0 || !old.listed() && old.Changed.Equal(neverListed)) {
		p.Changed = neverListed
		return
	}
	same := old.ID != 0 && p.Deleted == old.Deleted && p.AliasOf == old.AliasOf
	if p.Changed = old.Changed; !same || p.Deleted == "" && !p.sameContent(old) {
		p.Changed = now
	}
}

func applyExpiry(expires *bolt.Bucket, w *write) error {
	if w.had && !w.old.UnavailableAfter.IsZero() {
		if err := expires.Delete(expiryKey(millis(w.old.UnavailableAfter), w.page.ID)); err != nil {
			return err
		}
	}
	if w.page.Deleted == "" && !w.page.UnavailableAfter.IsZero() {
		return expires.Put(expiryKey(millis(w.page.UnavailableAfter), w.page.ID), w.key)
	}
	return nil
}

// Expire removes the pages whose unavailable_after has passed, at most limit in one transaction,
// and returns how many. Each leaves a tombstone with its visit, so a replay does not bring it back.
// The next visit decides again. The frontier is notified.
func (s *Store) Expire(now time.Time, limit int) (int, error) {
	var due []Page
	err := s.view(func(tx *bolt.Tx) error { // mostly there is nothing to write
		meta, cur := tx.Bucket(bucketMeta), tx.Bucket(bucketExpires).Cursor()
		for k, v := cur.First(); k != nil && len(due) < limit; k, v = cur.Next() {
			if int64(binary.BigEndian.Uint64(k)) > now.UnixMilli() {
				break
			}
			p, err := parseRecord(parseKey(v), meta.Get(v))
			if err != nil {
				return err
			}
			due = append(due, p)
		}
		return nil
	})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	removed := 0
	err = s.update(func() string { return "remove expired pages" }, func(ch *change) error {
		var live []*write
		for _, p := range due {
			w := &write{key: appendKey(nil, p.URL), page: p}
			if err := ch.read(w); err != nil {
				return err
			}
			if !w.had || !w.old.Expired(now) {
				continue // it has changed meanwhile
			}
			w.page = w.old
			w.page.Deleted = crawl.ReasonNoindex
			ch.drop(w)
			live = append(live, w)
			if w.old.listed() {
				if err := ch.enqueue(OutboxMessage{Kind: OutboxRemoved, URL: p.URL, Visit: w.old.Visit}); err != nil {
					return err
				}
			}
		}
		removed = len(live)
		return ch.apply(live)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
