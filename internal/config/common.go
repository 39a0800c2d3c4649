package config

import (
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
)

// Common are the settings that every command has.
type Common struct {
	Config    string `key:"config" group:"Output" usage:"read settings from ‹FILE› (YAML)" example:"curtsy.yaml"`
	LogLevel  string `key:"log-level" group:"Output" usage:"log messages from this ‹LEVEL› up: {} (auto: daemons from info up, other commands only what is wrong)" choices:"debug info warn error auto" example:"info"`
	LogFormat string `key:"log-format" group:"Output" usage:"write log messages as ‹FORM›: {} (auto: daemons as text on a terminal and json elsewhere, other commands as sentences)" choices:"json text auto" example:"json"`
}

// AutoLevel and AutoFormat let the process decide what it logs. A daemon logs from level info on,
// as JSON, or as text on a terminal. Other commands log only warnings and errors, as sentences.
const (
	AutoLevel  = "auto"
	AutoFormat = "auto"
)

func newCommon() Common { return Common{LogLevel: AutoLevel, LogFormat: AutoFormat} }

func (c Common) check(src *Source) error {
	var l slog.Level
	if c.LogLevel != AutoLevel && l.UnmarshalText([]byte(c.LogLevel)) != nil {
		// slog also accepts other spellings, such as INFO
		return src.refuseOther("log-level", "is not a level")
	}
	return src.refuseOther("log-format", "is not a form")
}

// Logger makes the log of the process, as JSON or, on a terminal, as text. It also redirects
// package log to it.
func (c Common) Logger(stderr io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // AutoLevel; check refuses all others
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: explained}
	var h slog.Handler = slog.NewJSONHandler(stderr, opts)
	if c.LogFormat == "text" || c.LogFormat == "auto" && Terminal(stderr) {
		h = slog.NewTextHandler(stderr, opts)
	}
	// Libraries that use package log may quote what a server sent. Their lines go to the same log
	// at level debug.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(h, slog.LevelDebug).Writer())
	return slog.New(h)
}

// explained adds to an error in a log what to do about it.
func explained(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.AnyValue(disk.Explain(err))
	}
	return a
}

// Terminal reports whether w is a terminal. A w with a method Terminal decides itself.
func Terminal(w io.Writer) bool {
	switch w := w.(type) {
	case *os.File:
		return isatty.IsTerminal(w.Fd())
	case interface{ Terminal() bool }:
		return w.Terminal()
	}
	return false
}

// NATS names the NATS server and the crawl on it.
type NATS struct {
	URL          string `key:"nats" group:"Cluster" usage:"use the NATS server or cluster at ‹URL› (several: comma-separated)" example:"nats://127.0.0.1:4222"`
	Crawl        string `key:"crawl" group:"Cluster" usage:"‹NAME› of the crawl on that server" example:"docs"`
	Replicas     int    `key:"nats-replicas" group:"Cluster" usage:"keep streams on ‹N› servers of a cluster" example:"3"`
	User         string `key:"nats-user" group:"Cluster" usage:"‹USER› of the NATS connection" example:"curtsy"`
	Password     Secret `key:"nats-password" flag:"-"`
	PasswordFile string `key:"nats-password-file" group:"Cluster" usage:"‹FILE› with the NATS password" example:"/run/secrets/nats"`
	Creds        string `key:"nats-creds" group:"Cluster" usage:"‹FILE› with NATS credentials" example:"/run/secrets/curtsy.creds"`
	NKey         string `key:"nats-nkey" group:"Cluster" usage:"‹FILE› with an NKey seed" example:"/run/secrets/curtsy.nk"`
	CA           string `key:"nats-ca" group:"Cluster" usage:"‹FILE› with the certificates to trust for NATS (PEM)" example:"ca.pem"`
	Cert         string `key:"nats-cert" group:"Cluster" usage:"‹FILE› with our certificate for NATS (PEM)" example:"curtsy.pem"`
	Key          string `key:"nats-key" group:"Cluster" usage:"‹FILE› with the key of that certificate (PEM)" example:"curtsy-key.pem"`
}

func newNATS() NATS { return NATS{Crawl: crawl.DefaultName, Replicas: 1} }

func (n *NATS) check(src *Source) error {
	if err := crawlName(n.Crawl); err != nil {
		return src.Refuse("crawl", "cannot name a crawl; use 1 to 32 letters, digits, '-' or '_', for example docs")
	}
	if n.Replicas < 1 || n.Replicas > 5 {
		return src.Refuse("nats-replicas", "must be 1 to 5; use 3 on a cluster of three servers")
	}
	if n.PasswordFile != "" {
		body, err := os.ReadFile(n.PasswordFile)
		if err != nil {
			return src.Refuse("nats-password-file", "cannot be read: "+err.Error())
		}
		n.Password = Secret(strings.TrimRight(string(body), "\r\n"))
	}
	if (n.Cert == "") != (n.Key == "") {
		return src.Refuse("nats-cert", "needs nats-key, and nats-key needs nats-cert; use both, for example curtsy.pem and curtsy-key.pem")
	}
	return nil
}
