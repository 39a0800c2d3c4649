package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/curtsy/curtsy/internal/feed"
)

// DefaultTable is the name of the table if the URL has none.
const DefaultTable = "pages"

// mostConns is how many connections a sink has, unless the URL has pool_max_conns. Each shard needs
// one while it writes.
const mostConns = 4

// writeTime is how long a transaction of a batch may take, so that a lost server is noticed.
const writeTime = 2 * time.Minute

// Options are what a URL does not have. The zero value takes the defaults.
type Options struct {
	Password string // of the user, if the URL has none
	// Dial opens connections; nil means those of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger // nil: nothing is logged
}

// Sink is a table. Its methods may be called concurrently.
type Sink struct {
	pool  *pgxpool.Pool
	table table
	log   *slog.Logger
}

var _ feed.Sink = (*Sink)(nil)

// Open checks a URL and makes a sink for it. It does not connect.
func Open(ctx context.Context, u *url.URL, o Options) (feed.Sink, error) {
	t, err := tableOf(u)
	if err != nil {
		return nil, err
	}
	rest := *u
	q := u.Query()
	q.Del("table")
	rest.RawQuery = q.Encode()
	c, err := pgxpool.ParseConfig(rest.String())
	if err != nil {
		return nil, withoutURL(err)
	}
	if !q.Has("pool_max_conns") {
		c.MaxConns = mostConns
	}
	if o.Password != "" && c.ConnConfig.Password == "" {
		c.ConnConfig.Password = o.Password
	}
	if o.Dial != nil {
		c.ConnConfig.DialFunc = o.Dial
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "curtsy feed"
	}
	s := &Sink{table: t, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, err
	}
	return s, nil
}

// withoutURL is an error of ParseConfig without the URL, which may have a password.
func withoutURL(err error) error {
	_, why, found := strings.Cut(err.Error(), "`: ")
	if !found {
		why = "it cannot be read"
	}
	return errors.New("the URL of the database is not valid: " + why)
}

// table is a table, its name quoted.
type table struct {
	name, deleted string // with the schema
	base          string // without the schema and quotes; names of indices begin with it
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mostName leaves room for the ends of other names: a name has 63 bytes at most.
const mostName = 48

func tableOf(u *url.URL) (t table, err error) {
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return t, fmt.Errorf("the scheme %q is not postgres", u.Scheme)
	}
	name := u.Query().Get("table")
	if name == "" {
		name = DefaultTable
	}
	parts := strings.Split(name, ".")
	for _, p := range parts {
		if len(parts) > 2 || !plainName.MatchString(p) || len(p) > mostName {
			return t, fmt.Errorf("table=%.100s is not the name of a table: write table=NAME or table=SCHEMA.NAME, with letters, digits and _ and up to %d bytes each", name, mostName)
		}
	}
	t.base = parts[len(parts)-1]
	t.name = pgx.Identifier(parts).Sanitize()
	parts[len(parts)-1] += "_deleted"
	t.deleted = pgx.Identifier(parts).Sanitize()
	return t, nil
}

// Close closes the connections.
func (s *Sink) Close() error {
	s.pool.Close()
	return nil
}
