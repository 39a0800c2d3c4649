package archive

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/spf13/cobra"
)

// curtsy runs a command of this package as a person types it, and returns its standard output.
func curtsy(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := app.New(strings.NewReader(""), &out, &errs)
	root := &cobra.Command{Use: "curtsy"}
	root.AddCommand(Commands(a)...)
	cli.Dress(root)
	if code := a.Run(t.Context(), root, args); code != want {
		t.Fatalf("curtsy %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String()
}

// No text of a site, or of an index that somebody else made, reaches a terminal unescaped, and what
// is printed as JSON is JSON.
func TestArchiveListIsFitForATerminal(t *testing.T) {
	dir := t.TempDir()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\x1b[31m\u009b2k\r\n\r\nx"
	record := "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2026-11-24T08:30:00Z\r\nWARC-Target-URI: http://a.example/\x1b[31m\r\n" +
		"Content-Type: application/http; msgtype=response\r\nContent-Length: " + strconv.Itoa(len(head)) + "\r\n\r\n" + head + "\r\n\r\n"
	path := filepath.Join(dir, "a.warc")
	if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := curtsy(t, app.ExitOK, "archive", "list", dir); strings.ContainsAny(out, "\x1b\u009b") || !strings.Contains(out, `text/html\x1b[31m`) {
		t.Errorf("%q", out)
	}
	out := curtsy(t, app.ExitOK, "archive", "list", "--json", dir)
	var line struct{ Time, Mime string }
	if err := json.Unmarshal([]byte(out), &line); err != nil || strings.ContainsRune(out, '\x1b') || line.Time != "20261124083000" {
		t.Errorf("%q: %v", out, err)
	}
	index := "com,example)/ 2026112408300\x1b[2J {\"url\": \"http://a.example/\", \"length\": \"1\", \"offset\": \"0\", \"filename\": \"a.warc\", \"status\": \"\x5cu001b\"}\n"
	if err := os.WriteFile(path+".cdxj", []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"--json=false", "--json"} {
		if out := curtsy(t, app.ExitFailed, "archive", "list", form, dir); strings.ContainsRune(out, '\x1b') {
			t.Errorf("%q", out)
		}
	}
}
