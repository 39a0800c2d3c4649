package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
)

// lockFile is the file in the data directory that a running crawl holds.
const lockFile = "lock"

// Lock takes the data directory of a crawl. Its error says how to end whoever holds it.
func Lock(dir string) (*service.Lock, error) {
	l, err := service.LockData(dir, lockFile)
	var locked *service.LockedError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("%w; stop that crawl with: curtsy stop --dir %s, or use another --dir", err, locked.Dir)
	}
	return l, err
}

// Alive reports whether a crawl holds the directory.
func Alive(dir string) bool { return service.Locked(dir, lockFile) }

// serverFile is where a crawl that runs says how to reach its embedded server.
const serverFile = "nats.json"

// serverInfo is what it says: for our own user's eyes only, since it opens everything.
type serverInfo struct {
	URL      string    `json:"url"`
	User     string    `json:"user"`
	Password string    `json:"password"`
	Crawl    string    `json:"crawl"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
}

// write puts the file into dir, readable for nobody else from the first byte on.
func (s serverInfo) write(dir string) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, serverFile), append(body, '\n'))
}

// writeServerFile tells other commands how to reach the crawl, if its server is one that it has for
// itself.
func (e *Engine) writeServerFile() error {
	if e.srv == nil || e.o.Unreached {
		return nil
	}
	return serverInfo{
		URL: e.srv.ClientURL(), User: e.srv.User(), Password: e.srv.Password(),
		Crawl: e.o.Crawl, PID: os.Getpid(), Started: time.Now().UTC(),
	}.write(e.o.Dir)
}

// ErrNotRunning says that no crawl runs in a directory.
var ErrNotRunning = errors.New("no crawl is running there")

// startFor is how long Dial waits for a crawl that is starting. One that must open large files, or
// bring those of an older version up to date, may take longer.
const startFor = 5 * time.Second

// Dial finds the crawl that runs in dir. One that is starting, or ending, is waited for a moment;
// the error then says that it is, and not that there is none.
func Dial(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error) {
	for end := time.Now().Add(startFor); ; {
		c, err := dial(ctx, dir, log)
		if err == nil {
			return c, nil
		}
		var away *awayError
		switch alive := Alive(dir); {
		case !errors.As(err, &away):
			return nil, err
		case !alive: // what a killed crawl leaves is a file without a server behind it
			return nil, ErrNotRunning
		case ctx.Err() != nil || time.Now().After(end):
			return nil, fmt.Errorf("the crawl in %s is starting or stopping and does not answer yet: try again in a moment (%w)", dir, away.cause)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// awayError says that a crawl is not, or not yet, to be reached.
type awayError struct{ cause error }

func (e *awayError) Error() string { return e.cause.Error() }

// dial tries once.
func dial(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error) {
	name := filepath.Join(dir, serverFile)
	body, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &awayError{errors.New("it has not published its address yet")}
	}
	if err != nil {
		return nil, err
	}
	var info serverInfo
	if err := json.Unmarshal(body, &info); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o := queue.Options{URL: info.URL, User: info.User, Password: info.Password, Name: "curtsy", Inbox: "operator"}
	c, err := asker.Dial(ctx, o, crawl.Names(info.Crawl), log)
	if err != nil {
		return nil, &awayError{err}
	}
	return c, nil
}
