package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/identity"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/spf13/cobra"
)

// identityCommand writes what an operator publishes of himself, or makes the key for it.
func (a *app) identityCommand() *cobra.Command {
	cfg := config.NewIdentity()
	var newKey string
	cmd := &cobra.Command{
		Use:   "identity [flags]",
		Short: "Make a key to sign requests with, and what is published of it",
		Long: `Say who you are to the sites you crawl (Web Bot Auth). First make a key:

  curtsy identity --new-key sign.pem

It stays with you. Then write what is published at the address in whose name you sign:

  curtsy identity --sign-key sign.pem --sign-agent https://bot.example.org --contact me@example.org --range 192.0.2.0/28

That is the directory of keys with the header it must be served with (headers.txt, and nginx.conf for nginx), the addresses you ask
from (JAFAR), the agent's card for registers, and a page for webmasters. Serve the directory there, but for those two files, and crawl:

  curtsy crawl --sign-key sign.pem --sign-agent https://bot.example.org --contact me@example.org https://docs.example.org/

The header proves for --valid (30 days) that the keys are yours: write the files anew before that is over. To replace a key, publish the
new one beside the old (--also new.pem), sign with the new one a day later (--also old.pem), and drop the old one after another day.`,
		Args: no,
	}
	cmd.Flags().StringVar(&newKey, "new-key", "", "make a new key and write it to `FILE`, which must not be there yet; nothing else is done")
	return configured(cmd, cfg, func(*cobra.Command, []string, *config.Source) error {
		if newKey != "" {
			return a.makeKey(newKey)
		}
		return a.writeIdentity(cfg)
	})
}

// makeKey writes a new key to a file, and says what it is for.
func (a *app) makeKey(name string) error {
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		return err
	}
	if err := identity.WriteKey(name, key); err != nil {
		return &exit{exitUsage, err}
	}
	fmt.Fprintf(a.stdout, "key %s is in %s; only you can read it\npublish it: curtsy identity --sign-key %s --sign-agent https://bot.example.org --contact me@example.org\n",
		key.ID(), webtext.ShellWord(name), webtext.ShellWord(name))
	return nil
}

func (a *app) writeIdentity(cfg *config.Identity) error {
	if cfg.SignKey == "" {
		return usage("nobody to introduce: use --sign-key FILE and --sign-agent URL; a key is made by curtsy identity --new-key sign.pem")
	}
	if cfg.Contact == "" {
		return usage("webmasters must be able to reach you; use for example --contact me@example.org")
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
			return usage("--also %s cannot be used: %v", webtext.ShellWord(name), err)
		case i > 0 && slices.ContainsFunc(keys, func(k *botauth.Key) bool { return k.ID() == key.ID() }):
			return usage("--also %s is the key of another file; leave it out", webtext.ShellWord(name))
		}
		keys = append(keys, key)
	}
	ranges, err := identity.ParseRanges(cfg.Ranges)
	if err != nil {
		return usage("--range: %v", err)
	}
	now := time.Now()
	list, err := identity.Files(identity.Options{
		Agent: signer.Agent(), Form: signer.Form(), Keys: keys, Token: cfg.Agent, UserAgent: visit.UserAgent(crawl.Spec{Agent: cfg.Agent, Contact: cfg.Contact}),
		Contact: cfg.Contact, Purposes: cfg.Purposes, Ranges: ranges, Delay: cfg.Delay, Now: now, Valid: cfg.Valid,
	})
	if err != nil {
		return usage("%v", err)
	}
	if err := identity.Write(cfg.Dir, list); err != nil {
		return err
	}
	for _, f := range list {
		fmt.Fprintln(a.stdout, filepath.Join(cfg.Dir, filepath.FromSlash(f.Name)))
	}
	fmt.Fprintf(a.stdout, "serve them at %s, with the header in %s; it is good until %s\n", signer.Agent(), identity.HeadersFile, now.Add(cfg.Valid).UTC().Format(time.RFC3339))
	old := filepath.Join(cfg.Dir, identity.RangesPath[1:])
	if _, err := os.Stat(old); err == nil && len(ranges) == 0 {
		fmt.Fprintf(a.stdout, "%s is from before, and what is written now does not name it: remove it if its addresses are not yours any more, or say --range\n", old)
	} else if len(ranges) == 0 {
		fmt.Fprintf(a.stdout, "no %s was written: say where your requests come from, for example --range 192.0.2.0/28\n", identity.RangesPath[1:])
	}
	return nil
}
