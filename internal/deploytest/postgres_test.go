//go:build external

package deploytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
	"github.com/curtsy/curtsy/internal/feed/postgres"
	"github.com/curtsy/curtsy/internal/testaid"
)

// database is a PostgreSQL of this machine, in a folder of its own, on a Unix socket.
type database struct {
	t    *testing.T
	dir  string
	user *syscall.Credential // it does not run as root
	cmd  *exec.Cmd
	// ended receives the result of cmd.
	ended chan error
}

// startDatabase makes a database with the user feed, who needs no password.
func startDatabase(t *testing.T) *database {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // a short path: that of a socket has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &database{t: t, dir: dir}
	if os.Getuid() == 0 {
		d.user = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := d.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "feed", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	d.start()
	t.Cleanup(d.kill)
	return d
}

// command runs a program of PostgreSQL, which Debian keeps in a folder of the version.
func (d *database) command(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		d.t.Fatalf("there is no %s: install Debian's package postgresql", name)
	}
	cmd := exec.Command(found[len(found)-1], args...)
	cmd.Dir = d.dir
	if d.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.user}
	}
	return cmd
}

// start starts the server. One that has just been killed may still own the shared memory, so that
// another one ends at once and is started again.
func (d *database) start() {
	d.t.Helper()
	var ended chan error
	testaid.Until(d.t, "the database is ready", func() bool {
		if ended == nil {
			d.cmd = d.command("postgres", "-D", filepath.Join(d.dir, "data"), "-k", d.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40")
			if err := d.cmd.Start(); err != nil {
				d.t.Fatal(err)
			}
			ended = make(chan error, 1)
			go func(cmd *exec.Cmd, ended chan error) { ended <- cmd.Wait() }(d.cmd, ended)
		}
		select {
		case <-ended:
			ended = nil
			return false
		default:
			return d.command("pg_isready", "-q", "-h", d.dir).Run() == nil
		}
	})
	d.ended = ended
}

// kill ends the server and all its processes at once, as a power cut does.
func (d *database) kill() {
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(d.cmd.Process.Pid)).Output()
	_ = d.cmd.Process.Kill()
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	<-d.ended
}

func (d *database) url(query string) *url.URL {
	d.t.Helper()
	u, err := url.Parse("postgres://feed@/postgres?host=" + url.QueryEscape(d.dir) + query)
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

func (d *database) open(query string, o postgres.Options) feed.Sink {
	d.t.Helper()
	s, err := postgres.Open(context.Background(), d.url(query), o)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// query runs a statement, and returns its rows as texts with bars between the columns.
func (d *database) query(sql string) (list []string) {
	d.t.Helper()
	c, err := pgx.Connect(context.Background(), d.url("").String())
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close(context.Background())
	rows, err := c.Query(context.Background(), sql)
	if err != nil {
		d.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			d.t.Fatal(err)
		}
		text := ""
		for i, v := range values {
			text += strings.Repeat("|", min(i, 1)) + fmt.Sprint(v)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	return list
}

// TestExternalSmokePostgres feeds pages to a real PostgreSQL: what is made, found, changed,
// refused, deleted and swept.
func TestExternalSmokePostgres(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	s := d.open("", postgres.Options{})
	defer s.Close()
	prepare := func(s feed.Sink) {
		t.Helper()
		if err := s.Prepare(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	write := func(generation int64, changes ...feed.Change) []feed.Refused {
		t.Helper()
		refused, err := s.Write(t.Context(), feed.Batch{Crawl: "docs", Shard: 1, Generation: generation, Changes: changes})
		if err != nil {
			t.Fatal(err)
		}
		return refused
	}
	want := func(sql string, rows ...string) {
		t.Helper()
		if got := d.query(sql); strings.Join(got, "\n") != strings.Join(rows, "\n") {
			t.Errorf("%s:\n%q\nwant\n%q", sql, got, rows)
		}
	}
	const a, b, c = "https://example.org/a", "https://example.org/b", "https://example.org/c"
	prepare(s)
	prepare(s)

	page := feedtest.Page(a, 3)
	page.Row.Text, page.Row.Title = "Running servers \x00", "Chapter 12"
	page.Row.Fields = crawl.Fields{{Name: "kind", Type: crawl.FieldKeyword, Values: []string{"chapter\x00"}}, {Name: "version", Type: crawl.FieldNumber, Values: []string{"18"}}}
	write(1, page, feedtest.Page(b, 4))
	want("SELECT url, text, host, status, fetched_at AT TIME ZONE 'UTC' FROM pages WHERE version = 3",
		a+"|Running servers \ufffd|example.org|200|2026-03-01 12:00:03 +0000 UTC")
	want("SELECT fields->>'kind', (fields->>'version')::int FROM pages WHERE fields @> '{\"version\": 18}'", "chapter\ufffd|18")
	want("SELECT url FROM pages WHERE search @@ websearch_to_tsquery('english', 'run server')", a)
	want("SELECT more->>'snippet_allowed' FROM pages LIMIT 1", "true")

	// Older versions change nothing, neither of a page nor of a deleted one.
	write(1, feedtest.Gone(b, 6), feedtest.Page(a, 5))
	write(1, feedtest.Page(b, 4), page, feedtest.Gone(a, 4))
	want("SELECT url, version FROM pages", a+"|5")
	write(1, feedtest.Page(b, 7))
	want("SELECT version FROM pages ORDER BY 1", "5", "7")

	// Pages that a check of the operator, or a limit of the server, does not allow.
	d.query("ALTER TABLE pages ADD CHECK (title <> 'bad')")
	bad := feedtest.Page(c, 8)
	bad.Row.Title = "bad"
	refused := write(2, feedtest.Page(a, 9), bad, feedtest.Gone(b, 10))
	if len(refused) != 1 || refused[0].Change.Row.URL != c || !strings.Contains(refused[0].Reason, "pages_title_check") {
		t.Errorf("%+v", refused)
	}
	want("SELECT url, version, generation FROM pages", a+"|9|2")
	long := feedtest.Page(c, 11)
	var words strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	long.Row.Text = words.String()
	if refused := write(3, long); len(refused) > 0 {
		t.Errorf("%s", refused[0].Reason)
	}

	for range 2 {
		if err := s.Sweep(t.Context(), "docs", 1, 3); err != nil {
			t.Fatal(err)
		}
		want("SELECT url FROM pages", c)
	}

	// A table of the operator's own gets the columns that it lacks.
	d.query("CREATE TABLE mine (id text UNIQUE NOT NULL, version bigint, note text)")
	mine := d.open("&table=public.mine", postgres.Options{})
	defer mine.Close()
	prepare(mine)
	if _, err := mine.Write(t.Context(), feed.Batch{Crawl: "docs", Changes: []feed.Change{feedtest.Page(a, 1)}}); err != nil {
		t.Fatal(err)
	}
	want("SELECT url, note FROM mine", a+"|<nil>")

	d.query("CREATE ROLE other LOGIN")
	other := d.url("")
	other.User = url.User("other")
	for _, wrong := range []struct {
		at   *url.URL
		want string
	}{{other, "GRANT"}, {d.url("&dbname=nowhere"), "createdb"}, {d.url("&table=nowhere.pages"), "CREATE SCHEMA"}} {
		s, err := postgres.Open(t.Context(), wrong.at, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var p *feed.Permanent
		if err := s.Prepare(t.Context(), nil); !errors.As(err, &p) || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s: %v", wrong.at, err)
		}
		_ = s.Close()
	}
}

// TestExternalPostgresKilled kills the server 20 times, which takes a minute.
func TestExternalPostgresKilled(t *testing.T) { postgresKilled(t, 20) }

func TestExternalSmokePostgresKilled(t *testing.T) { postgresKilled(t, 3) }

// postgresKilled feeds random histories while the server is killed, and connections break at random
// places: at the end the table has exactly the pages that are stored.
func postgresKilled(t *testing.T, kills int) {
	t.Parallel()
	d := startDatabase(t)
	k := &killer{d: d, random: rand.New(rand.NewPCG(33, 1)), kills: kills}
	h := feedtest.Random(33, 3, 30*kills)
	again, err := feedtest.Writer{
		Open: func() (feed.Sink, error) {
			return postgres.Open(context.Background(), d.url(""), postgres.Options{Dial: k.dial})
		},
		Pause: func(int) { // until the server is back
			k.alive.RLock()
			defer k.alive.RUnlock()
		},
	}.Run(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if k.kills > 0 || again < 2*kills {
		t.Errorf("the server has to be killed %d times more; %d batches were sent again", k.kills, again)
	}
	want, got := h.Want(), d.query("SELECT id, version, text FROM pages")
	if len(got) != len(want) {
		t.Errorf("%d pages, want %d", len(got), len(want))
	}
	for _, row := range got {
		id, rest, _ := strings.Cut(row, "|")
		if c, ok := want[id]; !ok || rest != fmt.Sprintf("%d|%s", c.Version, c.Row.Text) {
			t.Errorf("%s, want %d of %s", row, c.Version, c.Row.URL)
		}
	}
}

// killer breaks connections after a random number of bytes, and kills the server with every second.
type killer struct {
	d     *database
	alive sync.RWMutex // locked while the server is not running

	mu     sync.Mutex // guards what is below
	random *rand.Rand
	left   int // bytes until the next break
	kills  int // of the server, that are still to be done
	breaks int
}

func (k *killer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &breaking{c, k}, nil
}

// sent counts bytes, and reports whether the connection breaks now.
func (k *killer) sent(n int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left -= n; k.left > 0 || k.kills == 0 {
		return false
	}
	k.left = 20_000 + k.random.IntN(20_000)
	if k.breaks++; k.breaks%2 == 0 {
		k.kills--
		k.alive.Lock()
		defer k.alive.Unlock()
		k.d.kill()
		k.d.start()
	}
	return true
}

// breaking is a connection that breaks before or after it has passed bytes on.
type breaking struct {
	net.Conn
	k *killer
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.k.sent(len(p)) {
		n, _ := b.Conn.Write(p[:len(p)/2])
		_ = b.Conn.Close()
		return n, net.ErrClosed
	}
	return b.Conn.Write(p)
}
