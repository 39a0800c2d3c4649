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

// lockFile is the file in the data directory that a running crawl locks.
const lockFile = "lock"

// Lock locks the data directory of a crawl. Its error says how to stop the process that has the
// lock.
func Lock(dir string) (*service.Lock, error) {
	l, err := service.LockData(dir, lockFile)
	var locked *service.LockedError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("%w; stop that crawl with: curtsy stop --dir %s, or use another --dir", err, locked.Dir)
	}
	return l, err
}

// Alive reports whether a running crawl has locked the directory.
func Alive(dir string) bool { return service.Locked(dir, lockFile) }

// serverFile is the file in which a running crawl publishes the address of its embedded server.
const serverFile = "nats.json"

// serverInfo is its content. Only our own user may read it, because it gives full access.
type serverInfo struct {
	URL      string    `json:"url"`
	User     string    `json:"user"`
	Password string    `json:"password"`
	Crawl    string    `json:"crawl"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
}

// write writes the file into dir. Nobody else can read it at any time.
func (s serverInfo) write(dir string) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, serverFile), append(body, '\n'))
}

// writeServerFile publishes the address of an embedded server for other commands.
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

// startFor is how long Dial waits for a crawl that is starting. A crawl may take longer if it must
// open large files or convert those of an older version.
const startFor = 5 * time.Second

// Dial connects to the crawl that runs in dir. If the crawl is starting or stopping, Dial waits for
// a moment, and its error then says so.
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
		case !alive: // a killed crawl leaves the file without a server
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

// awayError says that a crawl cannot be reached, or not yet.
type awayError struct{ cause error }

func (e *awayError) Error() string { return e.cause.Error() }

// dial makes one attempt.
func dial(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error) {
	name := filepath.Join(dir, serverFile)
	body, err := disk.ReadRegular(name)
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
