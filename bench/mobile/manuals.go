package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Where Debian's packages have the manuals.
const (
	postgres     = "/usr/share/doc/postgresql-doc-15/html"
	cppreference = "/usr/share/cppreference/doc/html/en"
)

// manuals are the site, its servers, and the crawls of it.
type manuals struct {
	s      settings
	pages  int
	octets int64
	names  []string // of the files of pages, below root

	site, robots *proxy // in front of nginx and agenthost
	served       string // where agenthost listens
	host         *exec.Cmd
	brought      map[string]page // by the robot alone, by path
}

func (m *manuals) file(name string) string { return filepath.Join(m.s.dir, name) }

// newManuals copies the pages and starts nginx.
func newManuals(ctx context.Context, s settings) (*manuals, error) {
	m := &manuals{s: s}
	listens, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if m.served, err = freeAddress(); err != nil {
		return nil, err
	}
	if m.site, err = newProxy(listens); err != nil {
		return nil, err
	}
	if m.robots, err = newProxy(m.served); err != nil {
		return nil, err
	}
	if err := m.copyPages(); err != nil {
		return nil, err
	}
	return m, m.startNginx(ctx, listens)
}

// freeAddress returns an address at which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// copyPages copies as many pages as wanted, and writes a page that links to all of them: parts of
// the manuals could not be reached otherwise.
func (m *manuals) copyPages() error {
	var list bytes.Buffer
	list.WriteString("<!DOCTYPE html>\n<html><head><title>Manuals</title></head><body><h1>Manuals</h1><ul>\n")
	for _, from := range [][2]string{{postgres, "postgresql"}, {cppreference, "cppreference"}} {
		var names []string
		err := filepath.WalkDir(from[0], func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ".html") {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.Sort(names)
		if m.s.pages > 0 {
			names = names[:min(len(names), m.s.pages-1-len(m.names))]
		}
		for _, name := range names {
			to := from[1] + plainName(strings.TrimPrefix(name, from[0]))
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = plainLinks(text)
			if err := m.write(to, text, time.Now().Add(-30*24*time.Hour)); err != nil {
				return err
			}
			m.names = append(m.names, to)
			m.octets += int64(len(text))
			fmt.Fprintf(&list, "<li><a href=\"%s\">%s</a>\n", to, to)
		}
	}
	list.WriteString("</ul></body></html>\n")
	m.pages, m.octets = len(m.names)+1, m.octets+int64(list.Len())
	robots := fmt.Sprintf("User-agent: *\nDisallow:\n\nMobile-agent-server: / atp://%s\n", m.robots.address())
	old := time.Now().Add(-30 * 24 * time.Hour)
	return errors.Join(m.write("index.html", list.Bytes(), old), m.write("robots.txt", []byte(robots), old))
}

// plainName replaces what may be escaped in a URL. The manual of C++ links to operator%3D.html, and
// that is another URL than operator=.html, which a list of files has: a crawl by requests would
// store both.
func plainName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if strings.IndexByte("/._-~", c) < 0 && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			fmt.Fprintf(&b, "_%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

var (
	address = regexp.MustCompile(`href="[^"]*"`)
	escape  = regexp.MustCompile(`%([0-9A-Fa-f]{2})`)
)

// plainLinks changes links as plainName changes names.
func plainLinks(text []byte) []byte {
	return address.ReplaceAllFunc(text, func(link []byte) []byte { return escape.ReplaceAll(link, []byte("_$1")) })
}

func (m *manuals) write(name string, text []byte, modified time.Time) error {
	name = m.file("root/" + name)
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644), os.Chtimes(name, modified, modified))
}

// change changes one page in a hundred: a sentence more.
func (m *manuals) change() error {
	for i := 0; i < len(m.names); i += 100 {
		text, err := os.ReadFile(m.file("root/" + m.names[i]))
		if err != nil {
			return err
		}
		sentence := fmt.Sprintf("<p>This page was changed for the second crawl, as number %d.</p></body>", i)
		changed := bytes.Replace(text, []byte("</body>"), []byte(sentence), 1)
		if bytes.Equal(changed, text) {
			changed = append(changed, sentence...)
		}
		if err := m.write(m.names[i], changed, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// startNginx starts nginx with what Debian's nginx.conf has for the pages of a site.
func (m *manuals) startNginx(ctx context.Context, listens string) error {
	var paths strings.Builder
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&paths, "%s_temp_path %s;\n", name, m.file(name))
	}
	conf := fmt.Sprintf(`pid %[1]s/nginx.pid; error_log %[1]s/nginx.error; daemon on; worker_processes 1; user root;
events {}
http {
include /etc/nginx/mime.types; default_type application/octet-stream; sendfile on; tcp_nopush on; types_hash_max_size 2048; gzip on;
%[2]slog_format crawl '$status $request_uri'; access_log %[1]s/nginx.log crawl;
server { listen %[3]s; root %[1]s/root; index index.html; }
}
`, m.s.dir, paths.String(), listens)
	if err := os.WriteFile(m.file("nginx.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "nginx", "-c", m.file("nginx.conf")).CombinedOutput(); err != nil {
		return fmt.Errorf("nginx: %w\n%s", err, out)
	}
	return nil
}

// startHost starts agenthost.
func (m *manuals) startHost(ctx context.Context, bin string) error {
	entry, err := exec.CommandContext(ctx, bin, "agenthost", "key", m.file("robot.pem")).Output()
	if err != nil {
		return fmt.Errorf("agenthost key: %w", err)
	}
	// Without a name for index files, each document has the URL that the links have.
	conf := fmt.Sprintf("root: %s\nbase: http://%s/\ndir: %s\nserve: %s\naddress: atp://%s\nindex-file: \"\"\nextension: [html]\nlisten: \"off\"\nallow-robot:\n%s",
		m.file("root"), m.site.address(), m.file("state"), m.served, m.robots.address(), strings.NewReplacer("NAME", "bench", "/PATH/", "/").Replace(string(entry)))
	if err := os.WriteFile(m.file("agenthost.yaml"), []byte(conf), 0o600); err != nil {
		return err
	}
	stderr, err := os.Create(m.file("agenthost.err"))
	if err != nil {
		return err
	}
	defer stderr.Close()
	m.host = exec.Command(bin, "agenthost", "--config", m.file("agenthost.yaml"))
	m.host.Stderr = stderr
	if err := m.host.Start(); err != nil {
		return err
	}
	for range 600 {
		if c, err := net.Dial("tcp", m.served); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, err := os.ReadFile(m.file("agenthost.err"))
	return fmt.Errorf("agenthost does not listen: %s, %w", text, err)
}

func (m *manuals) stopHost() error {
	if m.host == nil {
		return nil
	}
	err := errors.Join(m.host.Process.Signal(syscall.SIGTERM), m.host.Wait())
	m.host = nil
	return err
}

func (m *manuals) close() error {
	err := m.stopHost()
	if out, failed := exec.Command("nginx", "-c", m.file("nginx.conf"), "-s", "quit").CombinedOutput(); failed != nil {
		err = errors.Join(err, fmt.Errorf("nginx -s quit: %w\n%s", failed, out))
	}
	return errors.Join(err, m.site.close(), m.robots.close())
}
