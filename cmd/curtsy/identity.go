package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/identity"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/spf13/cobra"
)

// identityCommand writes what operators publish about themselves, or makes the key for it.
func (a *commands) identityCommand() *cobra.Command {
	cfg := config.NewIdentity()
	var newKey string
	cmd := &cobra.Command{
		Use:   "identity [flags]",
		Short: "Make a signing key, and the files that publish it",
		Long: `Prove to sites that requests come from you (Web Bot Auth). First make a key, and keep it secret:

  curtsy identity --new-key sign.pem

Then write the files that you publish at the address that you sign for:

  curtsy identity --sign-key sign.pem --sign-agent https://bot.example.org \
    --contact me@example.org --range 192.0.2.0/28

They are the key directory, the header that it needs (headers.txt, and nginx.conf for nginx), the
addresses that you send requests from (JAFAR), the card of the agent for registries, and a page for
webmasters. Serve them at that address, except headers.txt and nginx.conf, and crawl:

  curtsy crawl --sign-key sign.pem --sign-agent https://bot.example.org \
    --contact me@example.org https://docs.example.org/

The header proves for the time of --valid (30 days) that the keys are yours; write the files again
before it ends. To replace a key, publish the new one beside the old one (--also new.pem), sign with
the new one a day later (--also old.pem), and remove the old one after another day.`,
		Example: `  curtsy identity --new-key sign.pem
  curtsy identity --sign-key sign.pem --sign-agent https://bot.example.org --contact me@example.org`,
		Args: app.NoArgs,
	}
	cmd.Flags().StringVar(&newKey, "new-key", "", "make a key, write it to the new `FILE`, and do nothing else")
	return app.Configured(cmd, cfg, func(*cobra.Command, []string, *config.Source) error {
		if newKey != "" {
			return a.makeKey(newKey)
		}
		return a.writeIdentity(cfg)
	})
}

// makeKey writes a new key to a file, and prints how to publish it.
func (a *commands) makeKey(name string) error {
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		return err
	}
	if err := identity.WriteKey(name, key); err != nil {
		return app.Exit(app.ExitUsage, err)
	}
	fmt.Fprintf(a.Stdout, "key %s is in %s; only you can read it\nto publish it: curtsy identity --sign-key %s --sign-agent https://bot.example.org --contact me@example.org\n",
		key.ID(), webtext.ShellWord(name), webtext.ShellWord(name))
	return nil
}

func (a *commands) writeIdentity(cfg *config.Identity) error {
	if cfg.SignKey == "" {
		return app.Usage("--sign-key FILE and --sign-agent URL are required; to make a key: curtsy identity --new-key sign.pem")
	}
	if cfg.Contact == "" {
		return app.Usage("--contact is required, so that webmasters can reach you; use for example --contact me@example.org")
	}
	signer, err := cfg.Signer()
	if err != nil {
		return err
	}
	var keys []*botauth.Key
	for i, name := range append([]string{cfg.SignKey}, cfg.Also...) {
		key, err := config.ReadKey(name)
		switch {
		case err != nil:
			return app.Usage("--also %s cannot be used: %v", webtext.ShellWord(name), err)
		case i > 0 && slices.ContainsFunc(keys, func(k *botauth.Key) bool { return k.ID() == key.ID() }):
			return app.Usage("--also %s is the key of another file; leave it out", webtext.ShellWord(name))
		}
		keys = append(keys, key)
	}
	ranges, err := identity.ParseRanges(cfg.Ranges)
	if err != nil {
		return app.Usage("--range: %v", err)
	}
	now := time.Now()
	list, err := identity.Files(identity.Options{
		Agent: signer.Agent(), Form: signer.Form(), Keys: keys, Token: cfg.Agent, UserAgent: requests.UserAgent(crawl.Spec{Agent: cfg.Agent, Contact: cfg.Contact}),
		Contact: cfg.Contact, Purposes: cfg.Purposes, Ranges: ranges, Delay: cfg.Delay, Now: now, Valid: cfg.Valid,
	})
	if err != nil {
		return app.Usage("%v", err)
	}
	if err := identity.Write(cfg.Dir, list); err != nil {
		return err
	}
	for _, f := range list {
		fmt.Fprintln(a.Stdout, filepath.Join(cfg.Dir, filepath.FromSlash(f.Name)))
	}
	fmt.Fprintf(a.Stdout, "serve these files at %s, with the header in %s; it is valid until %s\n", signer.Agent(), identity.HeadersFile, now.Add(cfg.Valid).UTC().Format(time.RFC3339))
	old := filepath.Join(cfg.Dir, identity.RangesPath[1:])
	if _, err := os.Stat(old); err == nil && len(ranges) == 0 {
		fmt.Fprintf(a.Stdout, "%s is from an earlier run, and the new files do not refer to it: remove it if its addresses are not yours any more, or use --range\n", old)
	} else if len(ranges) == 0 {
		fmt.Fprintf(a.Stdout, "%s was not written; to state where your requests come from, use for example --range 192.0.2.0/28\n", identity.RangesPath[1:])
	}
	return nil
}
