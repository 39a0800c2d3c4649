package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
)

// answers is a crawl that can be asked: one that runs, over NATS, or one at rest, by its files. Both say the same.
type answers interface {
	Status(context.Context) (crawl.Status, error)
	Hosts(context.Context, func(crawl.HostInfo) error) error
	Mirrors(context.Context, func(crawl.MirrorInfo) error) error
	Updates(context.Context, func(crawl.UpdatesInfo) error) error
	Explain(ctx context.Context, url string) (crawl.Explanation, error)
	Pages(context.Context, func(crawl.PageInfo) error) error
	Datasets(context.Context, func(crawl.DatasetInfo) error) error
	Search(ctx context.Context, query string, limit int) (crawl.SearchAnswer, error)
	Export(ctx context.Context, what, format string, w io.Writer) error
	Close() error
}

// open finds the crawl that the settings name. With --nats it is asked there; without, it is the one in --dir, asked over its
// own server while it runs.
func (a *app) open(ctx context.Context, cfg *config.Reader) (answers, error) {
	if cfg.URL != "" {
		return dialCrawl(ctx, cfg.NATS.Queue("curtsy"), crawl.Names(cfg.Crawl), a.logger(cfg))
	}
	l, err := a.dialDir(ctx, cfg)
	switch {
	case err == nil:
		return l, nil
	case !errors.Is(err, errNotRunning):
		return nil, err
	}
	return openFiles(cfg.Dir)
}

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

func (s serverInfo) options() config.NATS {
	return config.NATS{URL: s.URL, User: s.User, Password: config.Secret(s.Password)}
}

// write puts the file into dir, readable for nobody else from the first byte on.
func (s serverInfo) write(dir string) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, serverFile+".new")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // left by a crash; its mode is not known to be ours
	}
	if err := os.WriteFile(tmp, append(body, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, serverFile))
}

// errNotRunning says that no crawl runs in a directory.
var errNotRunning = errors.New("no crawl is running there")

// dialDir asks the crawl that runs in the directory. A server file without a server behind it is what a killed
// crawl leaves.
func (a *app) dialDir(ctx context.Context, cfg *config.Reader) (*live, error) {
	name := filepath.Join(cfg.Dir, serverFile)
	body, err := os.ReadFile(name)
	for range 100 { // a crawl that is about to begin, or to end
		if !errors.Is(err, fs.ErrNotExist) || !alive(cfg.Dir) || ctx.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
		body, err = os.ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotRunning
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
	l, err := dialCrawl(ctx, info.options().Queue("curtsy"), crawl.Names(info.Crawl), a.logger(cfg))
	if err != nil && !alive(cfg.Dir) {
		return nil, errNotRunning
	}
	return l, err
}
