package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/feed/elastic"
	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
	"github.com/curtsy/curtsy/internal/feed/natssink"
	"github.com/curtsy/curtsy/internal/feed/parts"
	"github.com/curtsy/curtsy/internal/feed/parts/s3test"
	"github.com/curtsy/curtsy/internal/feed/webhook"
	"github.com/curtsy/curtsy/internal/feed/webhook/webhooktest"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// sinkKinds are the sinks of the feed that can be in a bubble. A seed determines which it uses.
func sinkKinds() []sinkKind {
	return []sinkKind{
		{"a webhook", func(fl *follower) { fl.makeWebhook(false) }},
		{"a folder", (*follower).makeFolder},
		{"Elasticsearch", func(fl *follower) { fl.makeElastic(elastictest.Elasticsearch) }},
		{"Parquet in a folder", (*follower).makeParquet},
		{"NATS", (*follower).makeNATS},
		{"JSON lines in S3", func(fl *follower) { fl.makeS3("jsonl") }},
		{"a webhook with lines", func(fl *follower) { fl.makeWebhook(true) }},
		{"OpenSearch", func(fl *follower) { fl.makeElastic(elastictest.OpenSearch) }},
		{"Parquet in S3", func(fl *follower) { fl.makeS3("parquet") }},
	}
}

// sinkKind is a kind of sink. Make prepares a follower for it.
type sinkKind struct {
	name string
	make func(fl *follower)
}

// dialSink opens a connection to a sink, which a kill resets.
func (l *life) dialSink(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := l.s.w.net.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		c.Close()
		return nil, errKilled
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// chance draws whether a server fails, 1 in n, while faults happen, and which of some ways it
// takes.
func (fl *follower) chance(n, ways int) (way int, fails bool) {
	fl.w.faults.mu.Lock()
	ended := fl.w.faults.ended
	fl.w.faults.mu.Unlock()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.r.IntN(n) > 0 || ended {
		return 0, false
	}
	fl.failures++
	return fl.r.IntN(ways), true
}

// cutsAddress separates a server from everybody.
func (fl *follower) cutsAddress(address string) {
	fl.cut = func(down bool) { fl.w.net.Cut(address, down) }
}

func (fl *follower) url(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		fl.w.t.Fatal(err)
	}
	return u
}

func (fl *follower) makeWebhook(lines bool) {
	server := webhooktest.Start(fl.w.t, fl.w.net.Listen, webhooktest.Config{
		Secret: "key",
		Request: func(int) (x webhooktest.Fault) {
			switch way, fails := fl.chance(10, 4); {
			case !fails:
			case way == 0:
				x.Status, x.RetryAfter = http.StatusServiceUnavailable, strconv.Itoa(way+3)
			case way == 1:
				x.Status = http.StatusTooManyRequests
			case way == 2:
				x.Part = 3
			case way == 3:
				x.After = http.StatusInternalServerError
			}
			return x
		},
		Refuse: func(id string, row []byte) string {
			var r struct{ SHA256 string }
			if err := json.Unmarshal(row, &r); err != nil {
				fl.w.t.Error(err)
			}
			return fl.w.refusal(id, r.SHA256)
		},
	})
	fl.refuses = true
	fl.cutsAddress(server.Addr)
	fl.open = func(l *life) (feed.Sink, error) {
		transport := &http.Transport{DialContext: l.dialSink}
		return webhook.Open(webhook.Options{URL: fl.url("http://" + server.Addr + "/pages"), NDJSON: lines, Secret: "key",
			Client: &http.Client{Transport: transport, Timeout: time.Minute}})
	}
	fl.contents = func() map[string]map[string]any { return fl.rows(server.Pages()) }
}

// rows reads lines of JSON, by ID.
func (fl *follower) rows(lines map[string]json.RawMessage) map[string]map[string]any {
	all := map[string]map[string]any{}
	for id, line := range lines {
		all[id] = fl.w.row(line)
	}
	return all
}

func (fl *follower) makeElastic(product string) {
	server := elastictest.Start(fl.w.t, fl.w.net.Listen, elastictest.Config{Product: product, Bulk: func(n int) (x elastictest.Fault) {
		switch way, fails := fl.chance(6, 3); {
		case !fails:
		case way == 0:
			x.Die, x.Items = true, n%5
		case way == 1:
			x.Status = http.StatusTooManyRequests
		case way == 2:
			x.Item = func(id string) int {
				if id[0] < '8' {
					return http.StatusTooManyRequests
				}
				return 0
			}
		}
		return x
	}})
	fl.cutsAddress(server.Addr)
	fl.open = func(l *life) (feed.Sink, error) {
		return elastic.Open(context.Background(), fl.url(product+"+http://"+server.Addr+"/pages"), elastic.Options{Dial: l.dialSink})
	}
	fl.contents = func() map[string]map[string]any {
		all := map[string]map[string]any{}
		for id, d := range server.Docs("pages") {
			all[id] = fl.w.row(d.Source)
			for _, key := range []string{"host", "crawl", "shard", "generation"} {
				delete(all[id], key)
			}
		}
		return all
	}
}

func (fl *follower) makeFolder() {
	dir := filepath.Join(fl.w.dir, "folder")
	fl.cut = func(bool) {}
	fl.open = func(l *life) (feed.Sink, error) {
		s := directory.Open(dir)
		s.Fault = func(string) error { return l.fault("take") }
		return s, nil
	}
	fl.contents = func() map[string]map[string]any {
		lines, err := directory.Fold(dir)
		if err != nil {
			fl.w.t.Error(err)
		}
		return fl.rows(lines)
	}
}

// parquetKeys are the columns of Parquet.
var parquetKeys = []string{"url", "status", "content_type", "title", "description", "lang", "size", "sha256", "depth", "canonical", "text", "markdown", "html", "withheld"}

func (fl *follower) makeParquet() {
	dir := filepath.Join(fl.w.dir, "parquet")
	fl.cut, fl.keys = func(bool) {}, parquetKeys
	fl.open = func(*life) (feed.Sink, error) {
		return parts.Open(context.Background(), fl.url("file://"+dir+"?format=parquet"), parts.Options{})
	}
	fl.contents = func() map[string]map[string]any {
		files := map[string][]byte{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			fl.w.t.Error(err)
		}
		for _, e := range entries {
			if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				fl.w.t.Error(err)
			}
		}
		return fl.fold(files)
	}
}

const s3Key = "AKIATEST"

func (fl *follower) makeS3(format string) {
	server := s3test.Start(fl.w.t, fl.w.net.Listen, s3test.Config{Bucket: "search", AccessKey: s3Key, Put: func(int) (x s3test.Fault) {
		switch way, fails := fl.chance(6, 3); {
		case !fails:
		case way == 0:
			x.Before = true
		case way == 1:
			x.After = true
		case way == 2:
			x.Status, x.Code = http.StatusServiceUnavailable, "SlowDown"
		}
		return x
	}})
	fl.cutsAddress(server.Addr)
	if format == "parquet" {
		fl.keys = parquetKeys
	}
	fl.open = func(l *life) (feed.Sink, error) {
		return parts.Open(context.Background(), fl.url("s3://search/web?format="+format+"&endpoint=http://"+server.Addr), parts.Options{Dial: l.dialSink})
	}
	fl.contents = func() map[string]map[string]any { return fl.fold(server.Objects()) }
}

// parquetRow is a row of a part in Parquet. Fields of the site rules are not read.
type parquetRow struct {
	ID          string `parquet:"id" json:"id"`
	Version     int64  `parquet:"version" json:"version"`
	Removed     string `parquet:"removed,optional" json:"removed,omitempty"`
	URL         string `parquet:"url,optional" json:"url,omitempty"`
	Status      *int64 `parquet:"status,optional" json:"status,omitempty"`
	ContentType string `parquet:"content_type,optional" json:"content_type,omitempty"`
	Title       string `parquet:"title,optional" json:"title,omitempty"`
	Description string `parquet:"description,optional" json:"description,omitempty"`
	Lang        string `parquet:"lang,optional" json:"lang,omitempty"`
	Size        *int64 `parquet:"size,optional" json:"size,omitempty"`
	SHA256      string `parquet:"sha256,optional" json:"sha256,omitempty"`
	Depth       *int64 `parquet:"depth,optional" json:"depth,omitempty"`
	Canonical   string `parquet:"canonical,optional" json:"canonical,omitempty"`
	Text        string `parquet:"text,optional" json:"text,omitempty"`
	Markdown    string `parquet:"markdown,optional" json:"markdown,omitempty"`
	HTML        string `parquet:"html,optional" json:"html,omitempty"`
	Withheld    string `parquet:"withheld,optional" json:"withheld,omitempty"`
}

// fold reads parts as their readers should: the row with the highest version counts.
func (fl *follower) fold(files map[string][]byte) map[string]map[string]any {
	w := fl.w
	type row struct {
		ID, Removed string
		Version     int64
		line        []byte
	}
	newest := map[string]row{}
	add := func(line []byte) {
		r := row{line: line}
		if err := json.Unmarshal(line, &r); err != nil {
			w.t.Errorf("%v: %s", err, line)
		}
		if r.Version >= newest[r.ID].Version {
			newest[r.ID] = r
		}
	}
	for name, content := range files {
		if !strings.HasSuffix(name, ".parquet") {
			for line := range bytes.Lines(content) {
				add(line)
			}
			continue
		}
		rows, err := parquet.Read[parquetRow](bytes.NewReader(content), int64(len(content)))
		if err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
		for i := range rows {
			line, err := json.Marshal(rows[i])
			if err != nil {
				w.t.Error(err)
			}
			add(line)
		}
	}
	all := map[string]map[string]any{}
	for id, r := range newest {
		if r.Removed == "" {
			all[id] = w.row(r.line)
		}
	}
	return all
}

// sinkLines are the connections to a NATS sink, one for each life of its feeder.
type sinkLines struct {
	mu   sync.Mutex // guards what is below
	down bool
	all  []*broker.Line
}

func (s *sinkLines) join(l *broker.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Cut(s.down)
	s.all = append(s.all, l)
}

func (fl *follower) makeNATS() {
	w := fl.w
	srv := broker.StartIn(w.t, filepath.Join(w.dir, "nats-sink"))
	var lines sinkLines
	fl.cut = func(down bool) {
		lines.mu.Lock()
		defer lines.mu.Unlock()
		lines.down = down
		for _, l := range lines.all {
			l.Cut(down)
		}
	}
	fl.open = func(l *life) (feed.Sink, error) {
		line := broker.NewLine(srv)
		lines.join(line)
		dead := false // guarded by lines.mu
		l.cuts = append(l.cuts, func() {
			lines.mu.Lock()
			defer lines.mu.Unlock()
			dead = true
			line.Cut(true)
			for i, other := range lines.all {
				if other == line {
					lines.all = append(lines.all[:i], lines.all[i+1:]...)
					break
				}
			}
		})
		return natssink.Open(natssink.Options{Subject: "curtsy.pages", Stream: "PAGES", Connect: func() (*nats.Conn, error) {
			lines.mu.Lock()
			no := dead
			lines.mu.Unlock()
			if no {
				return nil, errKilled
			}
			return nats.Connect("", nats.InProcessServer(line), nats.UserInfo(srv.User(), srv.Password()), nats.MaxReconnects(-1))
		}})
	}
	fl.contents = func() map[string]map[string]any { return fl.stream(broker.Dial(w.t, srv).JS) }
}

// stream reads the stream of a NATS sink as a consumer should: the last message of each subject
// counts, and what is of an earlier generation than the last sweep of its shard is deleted.
func (fl *follower) stream(js jetstream.JetStream) map[string]map[string]any {
	w, ctx := fl.w, fl.w.t.Context()
	stream, err := js.Stream(ctx, "PAGES")
	if err != nil {
		w.t.Fatal(err)
	}
	type message struct {
		shard      string
		generation int64
		data       []byte
	}
	pages, swept := map[string]message{}, map[string]int64{}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		w.t.Fatal(err)
	}
	for subject := range maps.Keys(info.State.Subjects) {
		m, err := stream.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			w.t.Fatal(err)
		}
		words := strings.Split(subject, ".")
		generation, err := strconv.ParseInt(m.Header.Get("Curtsy-Generation"), 10, 64)
		if err != nil {
			w.t.Error(err)
		}
		if id := words[3]; id == "sweep" {
			swept[words[2]] = generation
		} else {
			pages[id] = message{words[2], generation, m.Data}
		}
	}
	all := map[string]map[string]any{}
	for id, m := range pages {
		if len(m.data) > 0 && m.generation >= swept[m.shard] {
			all[id] = w.row(m.data)
		}
	}
	return all
}
