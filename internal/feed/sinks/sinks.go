// Package sinks opens the sinks of a feed by their URLs. Each scheme is a row of its table.
package sinks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/feed/elastic"
	"github.com/curtsy/curtsy/internal/feed/natssink"
	"github.com/curtsy/curtsy/internal/feed/parts"
	"github.com/curtsy/curtsy/internal/feed/postgres"
	"github.com/curtsy/curtsy/internal/feed/webhook"
)

// Secrets are the credentials for a sink. They come from the environment, and are never shown.
type Secrets struct {
	Password string // for the user in the URL
	Token    string // sent as a bearer token, as the API key of a search server, or for NATS
	Secret   string // the key that signs what is sent
}

// Scheme is a kind of sink.
type Scheme struct {
	Name    string // of the URL
	What    string // in a few words
	Example string // a URL
	open    func(u *url.URL, s Secrets) (feed.Sink, error)
}

// Schemes are all kinds of sinks.
var Schemes = []Scheme{
	{"elasticsearch", "an index of Elasticsearch", "elasticsearch://search.example.org:9200/pages", openElastic},
	{"elasticsearch+http", "the same without TLS", "elasticsearch+http://127.0.0.1:9200/pages?part=20MiB", openElastic},
	{"opensearch", "an index of OpenSearch", "opensearch://feed@search.example.org:9200/pages", openElastic},
	{"opensearch+http", "the same without TLS", "opensearch+http://127.0.0.1:9200/pages", openElastic},
	{"postgres", "a table of PostgreSQL", "postgres://feed@db.example.org/search?table=pages", openPostgres},
	{"s3", "files in Parquet or JSON lines in a bucket of S3", "s3://search/pages?region=eu-central-1", openS3},
	{"file", "a folder of files in JSON lines or Parquet", "file:///srv/pages?format=parquet", openFolder},
	{"https", "a webhook, which receives batches by POST", "https://app.example.org/pages", openWebhook},
	{"http", "the same without TLS", "http://127.0.0.1:8000/pages?format=ndjson", openWebhook},
	{"nats", "a stream of NATS JetStream", "nats://127.0.0.1:4222/pages?stream=PAGES", openNATS},
	{"tls", "the same with TLS", "tls://nats.example.org:4222/pages?stream=PAGES", openNATS},
}

// Open opens the sink that a URL names. It connects to nothing: feed.Sink.Prepare does. name is
// that of the sink, unless the operator gives another one. Errors show no credentials.
func Open(raw string, s Secrets) (sink feed.Sink, name string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" { // the error of url.Parse shows the URL
		return nil, "", fmt.Errorf("the URL of the sink is not valid; use for example %s", Examples())
	}
	for _, k := range Schemes {
		if k.Name != u.Scheme {
			continue
		}
		if pw, has := u.User.Password(); has {
			if s.Password == "" {
				s.Password = pw
			}
			u.User = url.User(u.User.Username())
		}
		if sink, err = k.open(u, s); err != nil {
			return nil, "", fmt.Errorf("%s: %w; use for example %s", u.Redacted(), err, k.Example)
		}
		return sink, NameOf(u), nil
	}
	return nil, "", fmt.Errorf("the scheme %q of a sink is unknown; use for example %s", u.Scheme, Examples())
}

// Examples lists a URL of each kind.
func Examples() string {
	var all []string
	for _, k := range Schemes {
		all = append(all, k.Example)
	}
	return strings.Join(all, ", ")
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._]+`)

// NameOf makes the name of a sink from its URL, without its credentials.
func NameOf(u *url.URL) string {
	text := u.Scheme + "-" + u.Host + "-" + u.Path + u.Opaque
	name := strings.Trim(notInName.ReplaceAllString(text, "-"), "-._")
	if u.RawQuery == "" && len(name) <= crawl.MaxFeedName {
		return name
	}
	sum := sha256.Sum256([]byte(text + "?" + u.RawQuery))
	return strings.TrimRight(name[:min(len(name), crawl.MaxFeedName-7)], "-._") + "-" + hex.EncodeToString(sum[:3])
}

// openElastic opens elasticsearch://user@host:9200/index and the like.
func openElastic(u *url.URL, s Secrets) (feed.Sink, error) {
	return elastic.Open(context.Background(), u, elastic.Options{Password: s.Password, APIKey: s.Token})
}

// openPostgres opens postgres://user@host/database?table=pages.
func openPostgres(u *url.URL, s Secrets) (feed.Sink, error) {
	return postgres.Open(context.Background(), u, postgres.Options{Password: s.Password})
}

// openS3 opens s3://bucket/prefix. Its credentials are those of Amazon's tools.
func openS3(u *url.URL, _ Secrets) (feed.Sink, error) {
	return parts.Open(context.Background(), u, parts.Options{})
}

// openWebhook opens https://host/path?format=ndjson.
func openWebhook(u *url.URL, s Secrets) (feed.Sink, error) {
	o := webhook.Options{URL: u, Password: s.Password, Token: s.Token, Secret: s.Secret}
	query := u.Query()
	switch format := query.Get("format"); format {
	case "", "json":
	case "ndjson":
		o.NDJSON = true
	default:
		return nil, fmt.Errorf("the format %q is unknown; json and ndjson are known", format)
	}
	query.Del("format")
	plain := *u
	plain.RawQuery, o.URL = query.Encode(), &plain
	return webhook.Open(o)
}

// openNATS opens nats://user@host:4222/subject?stream=NAME.
func openNATS(u *url.URL, s Secrets) (feed.Sink, error) {
	if u.Host == "" {
		return nil, errors.New("the URL has no host")
	}
	server := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	options := []nats.Option{nats.Name("curtsy feed"), nats.MaxReconnects(-1)}
	if user := u.User.Username(); user != "" {
		options = append(options, nats.UserInfo(user, s.Password))
	} else if s.Token != "" {
		options = append(options, nats.Token(s.Token))
	}
	return natssink.Open(natssink.Options{Subject: strings.Trim(u.Path, "/"), Stream: u.Query().Get("stream"),
		Connect: func() (*nats.Conn, error) { return nats.Connect(server, options...) }})
}

// openFolder opens file:///folder and file:folder.
func openFolder(u *url.URL, _ Secrets) (feed.Sink, error) {
	dir := u.Path
	if u.Opaque != "" {
		dir = u.Opaque
	}
	switch format := u.Query().Get("format"); {
	case dir == "" || u.Host != "" && u.Host != "localhost":
		return nil, errors.New("a folder has no host")
	case format == "parquet":
		return parts.Open(context.Background(), u, parts.Options{})
	case format != "" && format != "jsonl":
		return nil, fmt.Errorf("the format %q is unknown; jsonl and parquet are known", format)
	}
	return directory.Open(filepath.FromSlash(dir)), nil
}
