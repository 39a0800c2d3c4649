// Command rupd tells robots what changed on a web site: it watches the document root, answers
// robots that ask at the site's /rupinfo.txt and CGI URL, and mails reports to those that
// registered (the Remote Update Protocol). docs/rupd.md says how to set it up.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/site"
	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := service.Signals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command line from arguments to exit code: rupd alone works by its settings, rupd
// check looks at them, and rupd robots and rupd forget ADDRESS are for the person whom a robot
// asks that lost its key.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, do := config.NewRupd(), func(cfg *config.Rupd) error { return serve(ctx, cfg, stderr) }
	switch {
	case len(args) > 0 && args[0] == "check":
		args, do = args[1:], func(cfg *config.Rupd) error { return site.Check(ctx, cfg.Site(stderr), stdout) }
	case len(args) > 0 && args[0] == "robots":
		args, do = args[1:], func(cfg *config.Rupd) error { return site.Robots(cfg.Dir, stdout) }
	case len(args) > 1 && args[0] == "forget":
		address := args[1]
		args, do = args[2:], func(cfg *config.Rupd) error { return site.Forget(ctx, cfg.Dir, address) }
	}
	err := config.Parse("rupd", cfg, args, stdout, stderr)
	if err == nil {
		err = do(cfg)
	}
	return config.Exit("rupd", err, stderr)
}

func serve(ctx context.Context, cfg *config.Rupd, stderr io.Writer) (err error) {
	lock, err := service.LockDir(cfg.Dir, "rupd.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	o := cfg.Site(stderr)
	o.Registry = service.NewRegistry()
	s, err := site.New(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g, ctx := errgroup.WithContext(ctx)
	if cfg.Listen != "off" {
		admin, err := service.NewAdmin(service.AdminOptions{Listen: cfg.Listen, Title: "rupd for " + cfg.Base, Registry: o.Registry, Ready: s.Ready, Log: o.Log})
		if err != nil {
			return err
		}
		o.Log.Info("admin port open", "url", admin.URL())
		g.Go(func() error { return admin.Run(ctx) })
	}
	o.Log.Info("at work", "root", cfg.Root, "base", cfg.Base, "serve", fmt.Sprint(s.Addr()))
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}
