package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/spf13/cobra"
)

// Logger is the log of a command that only reads: it reports errors.
func (a *App) Logger(cfg *config.Reader) *slog.Logger {
	return term.ServiceLog(cfg.Common, slog.LevelError, a.Stderr, new(term.Recently))
}

// Running finds the crawl that the settings name while it runs. If nothing runs in --dir, the error
// is engine.ErrNotRunning.
func (a *App) Running(ctx context.Context, cfg *config.Reader) (*asker.Crawl, error) {
	if cfg.URL != "" {
		return asker.Dial(ctx, a.NATSOptions(cfg.NATS, "curtsy"), crawl.Names(cfg.Crawl), a.Logger(cfg))
	}
	return a.DialEngine(ctx, cfg.Dir, a.Logger(cfg))
}

// Open finds the crawl that the settings name, whether it runs or not. The questions to a crawl in
// --dir are answered by its process, or from its files if it does not run.
func (a *App) Open(ctx context.Context, cfg *config.Reader) (*asker.Crawl, error) {
	a.About = config.About(cfg.Dir, cfg.NATS)
	for try := 1; ; try++ {
		l, err := a.Running(ctx, cfg)
		if !errors.Is(err, engine.ErrNotRunning) {
			return l, err
		}
		// The crawl may start in between. Then it has locked the files, or is about to create them.
		if l, err = engine.OpenFiles(cfg.Dir); err == nil || try == 3 || !engine.Alive(cfg.Dir) {
			return l, err
		}
	}
}

// Reach finds a crawl that runs. If it does not, the error says what to type.
func (a *App) Reach(ctx context.Context, cfg *config.Reader) (*asker.Crawl, error) {
	l, err := a.Running(ctx, cfg)
	if errors.Is(err, engine.ErrNotRunning) {
		goOn := ""
		if !engine.IsNew(cfg.Dir) {
			goOn = "to resume the crawl there, also with other settings: curtsy crawl" + config.About(cfg.Dir, cfg.NATS) + "; "
		}
		return nil, fmt.Errorf("no crawl is running in %s; %sto select another crawl: --dir DIR, or --nats URL --crawl NAME", cfg.Dir, goOn)
	}
	return l, err
}

// Reading makes a command that opens a crawl and prints something of it.
func (a *App) Reading(cmd *cobra.Command, run func(cmd *cobra.Command, from *asker.Crawl, args []string) error) *cobra.Command {
	return a.ReadingWith(cmd, config.NewReader(), run)
}

// ReadingWith is Reading with settings that run needs, too; they are complete when it is called.
func (a *App) ReadingWith(cmd *cobra.Command, cfg *config.Reader, run func(cmd *cobra.Command, from *asker.Crawl, args []string) error) *cobra.Command {
	return Configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		from, err := a.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer from.Close()
		return partly(run(cmd, from, args), func(shards []int) int64 { return from.StoredIn(cmd.Context(), shards) })
	})
}

// Me is the person who types, for the crawl log.
func Me() control.By {
	name, host := "somebody", "this machine"
	if u, err := user.Current(); err == nil {
		name = u.Username
	} else if n := os.Getenv("USER"); n != "" {
		name = n
	}
	if h, err := os.Hostname(); err == nil {
		host = cmp.Or(h, host)
	}
	return control.By{Who: name + "@" + host}
}
