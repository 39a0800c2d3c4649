package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	"github.com/curtsy/curtsy/internal/disk"
)

const (
	// maildirEvery is how often a Maildir is read. Reports come once a day at most.
	maildirEvery = 15 * time.Second
	// longestPause is the longest wait between two tries of a mail that could not be received.
	longestPause = time.Hour
	// givenUp is the age at which such a mail is given up. Mail servers retry for the same time.
	givenUp = 5 * 24 * time.Hour
)

// Maildir reads reports from a Maildir that a mail server delivers to. Files in new/ are received
// and moved to cur/, marked as seen, whether or not they were reports. A file that could not be
// received yet stays in new/ for at most five days. A Maildir may not be used concurrently.
type Maildir struct {
	r     *Receiver
	dir   string
	every time.Duration
	log   *slog.Logger
	later map[string]time.Time // files that could not be received, and when they are tried again
}

// NewMaildir returns a reader of the Maildir dir for a Receiver.
func NewMaildir(r *Receiver, dir string) (*Maildir, error) {
	for _, sub := range []string{"new", "cur"} {
		if st, err := os.Stat(filepath.Join(dir, sub)); err != nil || !st.IsDir() {
			return nil, fmt.Errorf("%s is not a Maildir: it has no folder %s; create it with: mkdir -p %s/{new,cur,tmp}", dir, sub, dir)
		}
	}
	return &Maildir{r: r, dir: dir, every: maildirEvery, log: r.o.Log}, nil
}

// Run reads the Maildir until ctx ends. An error with one file is logged, and the file is tried
// again later.
func (m *Maildir) Run(ctx context.Context) error {
	for {
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("the Maildir cannot be read; trying again", "dir", m.dir, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(m.every):
		}
	}
}

// look receives everything that is new. After a crash between receiving a file and moving it, the
// file is received twice, which changes nothing. A mail that cannot be received is tried less and
// less often, because each try may last as long as patience while the others wait.
func (m *Maildir) look(ctx context.Context) error {
	d, err := os.Open(filepath.Join(m.dir, "new"))
	if err != nil {
		return err
	}
	defer d.Close()
	later := map[string]time.Time{}
	for {
		some, err := d.Readdirnames(100)
		for _, name := range some {
			if ctx.Err() != nil {
				return nil
			}
			if at, tried := m.later[name]; tried && time.Now().Before(at) {
				later[name] = at
				continue
			}
			if err := m.take(ctx, name); err != nil {
				wait := min(max(m.every, m.age(name)/2), longestPause)
				later[name] = time.Now().Add(wait)
				m.log.Error("a mail stays in the Maildir", "file", name, "next", wait, "err", err)
			}
		}
		if errors.Is(err, io.EOF) {
			m.later = later
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// age returns how long a file has been in new/. 0 means that it is not known.
func (m *Maildir) age(name string) time.Duration {
	st, err := os.Lstat(filepath.Join(m.dir, "new", name))
	if err != nil {
		return 0
	}
	return time.Since(st.ModTime())
}

func (m *Maildir) take(ctx context.Context, name string) error {
	path := filepath.Join(m.dir, "new", name)
	b, err := readMail(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has moved it
	}
	refused := (*Refused)(nil)
	switch {
	case errors.As(err, &refused):
		m.log.Warn("a file in the Maildir is not a mail", "file", name, "err", err)
	case err != nil:
		return err
	default:
		err := m.receive(ctx, name, b)
		if err != nil && !errors.As(err, &refused) {
			if m.age(name) < givenUp {
				return err
			}
			m.log.Error("giving up on a mail in the Maildir", "file", name, "err", err)
		}
	}
	return os.Rename(path, filepath.Join(m.dir, "cur", name+":2,S"))
}

// receive receives a mail that is addressed to a site's address.
func (m *Maildir) receive(ctx context.Context, name string, mail []byte) error {
	address, ok := m.addressed(mail)
	if !ok {
		m.log.Debug("a mail in the Maildir is not addressed to a site's report address", "file", name)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.r.Receive(ctx, address, mail)
}

// readMail reads a regular file of limited size. It follows no link, because anybody who may write
// to the folder could make it read other files. It does not open a pipe, because that would block.
func readMail(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxMail {
		return nil, refuse("it is not a file of at most %d MiB", maxMail>>20)
	}
	f, err := disk.OpenRegular(path, os.O_RDONLY) // the file may have been replaced since
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMail+1))
}

// addressed finds the site's address to which a mail was delivered: in the field where mail servers
// write it, or else among the recipients.
func (m *Maildir) addressed(b []byte) (string, bool) {
	e, err := message.ReadWithOptions(bytes.NewReader(b), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return "", false
	}
	h := mail.Header{Header: e.Header}
	for _, field := range []string{"Delivered-To", "X-Original-To", "Envelope-To", "To", "Cc"} {
		list, err := h.AddressList(field)
		if err != nil {
			continue
		}
		for _, a := range list[:min(len(list), 100)] {
			if as, ok := m.r.addresses.Load().Has(a.Address); ok {
				return as, true
			}
		}
	}
	return "", false
}
