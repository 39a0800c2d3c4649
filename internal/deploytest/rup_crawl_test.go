//go:build external

package deploytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	bolt "go.etcd.io/bbolt"
)

// TestExternalRUPCrawl: a crawl receives mails about changes on a site that is served by nginx and
// rupd. After a lost report it asks the site for the changes; for changes that the site does not
// remember any more it requests all pages. Mails go through exim and swaks.
func TestExternalRUPCrawl(t *testing.T) {
	t.Parallel()
	door := "127.0.0.1:" + strconv.Itoa(freePort(t))
	s := startSite(t, door, map[string]string{
		"index.html": `<a href="a.html">a</a> <a href="b.html">b</a> <a href="c.html">c</a> <a href="d.html">d</a>`,
		"a.html":     "a at first", "b.html": "b at first", "c.html": "c at first", "d.html": "d at first",
	})
	c := &reader{site: s, dir: filepath.Join(s.dir, "crawl")}
	c.start(door)
	s.until("the site has us registered, and its pages are here", func() bool {
		u := c.updates()
		return u.Channel == "mail" && u.State == "registered" && c.has("a", "a at first") && c.has("b", "b at first") && c.has("c", "c at first") && c.has("d", "d at first")
	})
	s.until("our address has confirmed by itself", func() bool {
		out, err := os.ReadFile(s.rupd.log)
		return err == nil && bytes.Contains(out, []byte("an address was confirmed"))
	})

	// A change and a deleted page. Two days pass for the registration, and the site mails its
	// report.
	s.write("a.html", "second")
	s.remove("b.html")
	s.later("Change a.html", "Delete b.html")
	s.until("the first report is followed", func() bool { return c.updates().LastSequence == 1 && c.has("a", "second") && !c.has("b", "") })

	// The second report is lost. The third shows that it is missing; an hour later the crawl asks
	// the site.
	lost := make(chan []byte, 1)
	s.relay(startSink(t, lost), func() {
		s.write("c.html", "third")
		s.later("Change c.html")
		s.until("the second report is lost", func() bool { return len(lost) == 1 })
	})
	s.write("d.html", "fourth")
	s.later("Change d.html")
	s.until("the third report is followed", func() bool {
		u := c.updates()
		return u.LastSequence == 3 && u.Missing == 1 && u.Gaps == 1 && c.has("d", "fourth")
	})
	if c.has("c", "third") {
		t.Error("c.html was asked for again without a report: the test proves nothing")
	}
	c.age(2 * time.Hour)
	c.start(door)
	s.until("the changes of the lost report are obtained from the site", func() bool { return c.updates().Missing == 0 && c.has("c", "third") })
	if u := c.updates(); u.Recrawls != 0 {
		t.Errorf("%d full re-crawls, want none so far", u.Recrawls)
	}

	// The fourth is lost as well, and no report arrives for longer than the site remembers.
	s.relay(startSink(t, lost), func() {
		<-lost
		s.write("a.html", "fifth")
		s.later("Change a.html")
		s.until("the fourth report is lost", func() bool { return len(lost) == 1 })
	})
	address := c.age(40 * 24 * time.Hour)
	c.start(door)
	s.until("all is asked for again", func() bool { return c.updates().Recrawls == 1 && c.has("a", "fifth") })

	// A mail that is sent by hand is as good as one of rupd: it has the next number, and goes to
	// the address that only this site knows.
	s.write("c.html", "sixth")
	swaks := func(to, body string) (string, error) {
		out, err := try("swaks", "--server", door, "--to", to, "--from", "webmaster@site.example", "--header", "Subject: Update", "--body", body)
		return string(out), err
	}
	report := fmt.Sprintf("SequenceNumber: %d\nURLBase: http://%s/\n\nChange[%s]: c.html\n", c.updates().LastSequence+1, s.address, time.Now().UTC().Format(time.DateOnly))
	if out, err := swaks(address, report); err != nil {
		t.Errorf("swaks: %v\n%s", err, out)
	}
	s.until("a mail by hand is followed", func() bool { return c.has("c", "sixth") })
	// Forged mails are not even accepted.
	for _, forged := range [][2]string{
		{strings.Replace(address, "+", "+x", 1), report},
		{address, strings.Replace(report, "http://"+s.address, "http://other.example", 1)},
		{address, "buy now"},
	} {
		if out, err := swaks(forged[0], forged[1]); err == nil {
			t.Errorf("a forged mail is taken:\n%s", out)
		}
	}
}

// remove removes a file of the root.
func (s *site) remove(rel string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.root, rel)); err != nil {
		s.t.Fatal(err)
	}
}

// later waits until rupd knows of changes, and lets two days pass for it: then it sends mails.
func (s *site) later(changes ...string) {
	s.t.Helper()
	s.until("rupd sees "+strings.Join(changes, ", "), func() bool {
		seen := ""
		for _, e := range s.index("Action", "GetIndex", "Span", "1-day").Entries {
			seen += string(e.Kind) + " " + strings.TrimPrefix(e.URL, "http://"+s.address+"/") + "\n"
		}
		for _, c := range changes {
			if !strings.Contains(seen, c) {
				return false
			}
		}
		return true
	})
	s.rupd.stop()
	s.back(2 * 24 * time.Hour)
	s.startRupd()
}

// relay makes rupd send its mails to another address while do runs.
func (s *site) relay(to string, do func()) {
	s.t.Helper()
	was, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(s.config, replaceSetting(string(was), "smtp", to))
	do()
	s.rupd.stop()
	s.put(s.config, string(was))
	s.startRupd()
}

// reader is a crawl of a site.
type reader struct {
	*site
	dir   string
	crawl *process
}

func (c *reader) start(door string) {
	log := filepath.Join(c.t.TempDir(), "log")
	c.crawl = launch(c.t, log, "curtsy", "curtsy", "crawl", "--dir", c.dir, "--allow-private", "--delay=50ms", "--recrawl", "--recrawl-min=1s",
		"--updates-mail=curtsy@crawler.example", "--updates-listen="+door, "--listen=off", "http://"+c.address+"/")
	c.t.Cleanup(func() {
		if c.t.Failed() && !c.crawl.over() {
			c.t.Logf("updates of the site: %+v", c.updates())
		}
		if c.stop(); c.t.Failed() {
			text, _ := os.ReadFile(log)
			c.t.Logf("curtsy wrote, at last:\n%s", tail(text))
		}
	})
	c.until("the crawl answers", func() bool {
		_, err := try(program(c.t, "curtsy"), "status", "--dir", c.dir)
		return err == nil
	})
}

func (c *reader) stop() {
	c.t.Helper()
	if !c.crawl.over() {
		run(c.t, program(c.t, "curtsy"), "stop", "--dir", c.dir)
		<-c.crawl.ended
	}
}

// updates returns what the crawl knows about the updates of the site.
func (c *reader) updates() (u crawl.UpdatesInfo) {
	c.t.Helper()
	for line := range bytes.Lines(run(c.t, program(c.t, "curtsy"), "updates", "--json", "--dir", c.dir)) {
		var one crawl.UpdatesInfo
		if err := json.Unmarshal(line, &one); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if one.Source == "rup" {
			u = one
		}
	}
	return u
}

// has reports whether a page is stored, with a given text or, if that is empty, with any.
func (c *reader) has(name, text string) bool {
	c.t.Helper()
	digest, there := storedPages(c.t, "--dir", c.dir)["http://"+c.address+"/"+name+".html"]
	sum := sha256.Sum256([]byte(text))
	return there && (text == "" || digest == hex.EncodeToString(sum[:]))
}

// age stops the crawl and moves all its times for the site back, in its files. It returns the
// address that the site got.
func (c *reader) age(d time.Duration) (address string) {
	c.t.Helper()
	c.stop()
	files, _ := filepath.Glob(filepath.Join(c.dir, "frontier-*.db"))
	for _, name := range files {
		db, err := bolt.Open(name, 0o600, &bolt.Options{Timeout: time.Second})
		if err != nil {
			c.t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("rup"))
			k, v := b.Cursor().First()
			if k == nil {
				return nil
			}
			var record map[string]any
			if err := json.Unmarshal(v, &record); err != nil {
				return err
			}
			address, _ = record["address"].(string)
			older(record, d)
			v, err := json.Marshal(record)
			if err != nil {
				return err
			}
			return b.Put(bytes.Clone(k), v)
		})
		if err := db.Close(); err != nil {
			c.t.Fatal(err)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if address == "" {
		c.t.Fatal("no record of a registration")
	}
	return address
}

// older moves all times in a record back.
func older(record map[string]any, d time.Duration) {
	for k, v := range record {
		switch v := v.(type) {
		case map[string]any:
			older(v, d)
		case string:
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				record[k] = at.Add(-d).Format(time.RFC3339Nano)
			}
		}
	}
}
