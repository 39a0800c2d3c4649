package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/simweb"
)

// unpacked is the whole content of the files of an archive, indexes included.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	var all bytes.Buffer
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		all.Write(text)
	}
	return all.String()
}

// zipped is a file within a ZIP file.
func zipped(t *testing.T, path, name string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A forgotten host leaves no trace in the archive, whether the crawl runs or not, and the command
// reports what it did.
func TestForgetArchive(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 2, PagesPerHost: 5, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Robots: simweb.RobotsAllowAll}
		}})
		const secret = "http://h0000.sim.test/secret/1"
		web.Override(secret, &simweb.Answer{Body: "<p>quokka</p>"})
		web.Override("http://h0000.sim.test/open", &simweb.Answer{Body: "<p>wombat</p><a href='//h0001.sim.test/x'>x</a>"})
		data, warcs := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "warcs")
		curtsy(t, app.ExitOK, "crawl", "--dir", data, "--warc", warcs, "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), "--scope", "domain",
			secret, "http://h0000.sim.test/open", "http://h0001.sim.test/")
		if text := unpacked(t, warcs); !strings.Contains(text, "quokka") || !strings.Contains(text, "wombat") || !strings.Contains(text, "outlink: http://h0001.sim.test/x") {
			t.Fatal("the archive lacks something")
		}
		if out := curtsy(t, app.ExitOK, "forget", "--dir", data, "http://h0000.sim.test/secret/"); !strings.Contains(out, "archive: 3 records removed from 1 WARC file\n") {
			t.Error(out)
		}
		if text := unpacked(t, warcs); strings.Contains(text, "quokka") || strings.Contains(text, "/secret/") || !strings.Contains(text, "wombat") {
			t.Errorf("the archive tells of what is forgotten, or of nothing")
		}
		if out := curtsy(t, app.ExitOK, "forget", "--dir", data, "h0001.sim.test"); !strings.Contains(out, "archive: ") || !strings.Contains(out, " and 1 outlink of other pages removed from ") {
			t.Error(out)
		}
		// The text of another page belongs to that page.
		if text := unpacked(t, warcs); strings.Count(text, "h0001.sim.test") != 1 || !strings.Contains(text, "href='//h0001.sim.test/x'") || !strings.Contains(text, "wombat") {
			t.Errorf("the archive tells of what is forgotten, or of nothing")
		}
	})
}

// A directory of WARC files can be listed, read, indexed and verified. Damaged records are found
// and removed.
func TestArchiveCommands(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 5, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsAllowAll} }})
		const wombat, moved = "http://h0000.sim.test/wombat?b=1&a=2", "http://h0000.sim.test/moved"
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		io.WriteString(z, "<title>W&ouml;mbats</title><p>wombat</p>")
		z.Close()
		web.Override(wombat, &simweb.Answer{Header: []string{"Content-Encoding: gzip"}, Body: packed.String()})
		web.Override(moved, &simweb.Answer{Status: 302, Header: []string{"Location: /wombat?b=1&a=2"}, Body: "elsewhere"})
		dir := filepath.Join(t.TempDir(), "warcs")
		curtsy(t, app.ExitOK, "crawl", "--dir", filepath.Join(t.TempDir(), "data"), "--warc", dir, "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), moved, wombat)

		if out := curtsy(t, app.ExitOK, "archive", "list", dir, "http://h0000.sim.test/"); !strings.Contains(out, "  302  text/html                 "+moved+"\n") ||
			!strings.Contains(out, "  200  text/html                 "+wombat+"\n") || !strings.Contains(out, "robots.txt") {
			t.Error(out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "list", "--json", dir, moved); !strings.HasPrefix(out, `{"time":"20`) || !strings.Contains(out, `"url":"`+moved+`"`) || strings.Count(out, "\n") != 1 {
			t.Error(out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "cat", "--payload", dir, wombat); out != "<title>W&ouml;mbats</title><p>wombat</p>" {
			t.Errorf("%q", out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "cat", dir, wombat); !strings.HasPrefix(out, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(out, "\r\n\r\n"+packed.String()) {
			t.Errorf("%q", out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "cat", "--record", dir, moved); !strings.HasPrefix(out, "WARC/1.1\r\nWARC-Type: response\r\n") || !strings.HasSuffix(out, "elsewhere") {
			t.Errorf("%q", out)
		}
		curtsy(t, app.ExitFailed, "archive", "cat", dir, "http://h0000.sim.test/never")
		curtsy(t, app.ExitFailed, "archive", "cat", "--at", "2020", dir, wombat)
		curtsy(t, app.ExitUsage, "archive", "cat", "--at", "yesterday", dir, wombat)
		curtsy(t, app.ExitUsage, "archive", "list", t.TempDir())
		curtsy(t, app.ExitUsage, "archive", "verify", filepath.Join(dir, "none"))
		curtsy(t, app.ExitUsage, "archive", "wash")

		if out := curtsy(t, app.ExitOK, "archive", "verify", dir); strings.Contains(out, "  ") {
			t.Error(out)
		}
		packedTo := filepath.Join(t.TempDir(), "docs.wacz")
		if out := curtsy(t, app.ExitOK, "archive", "wacz", "--out", packedTo, "--title", "Docs", dir); !strings.HasPrefix(out, packedTo+": 1 WARC file, ") {
			t.Error(out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "verify", packedTo); !strings.HasPrefix(out, "docs.wacz: ") || strings.Contains(out, "  ") {
			t.Error(out)
		}
		// A WACZ file is read like the directory, and its list of pages has their titles.
		for _, args := range [][]string{{"list", "%"}, {"list", "--json", "%", wombat}, {"cat", "%", wombat}, {"cat", "--record", "%", moved}, {"cat", "--payload", "%", wombat}} {
			of := func(name string) string {
				with := append([]string{"archive"}, args...)
				with[slices.Index(with, "%")] = name
				lines := strings.SplitAfter(curtsy(t, app.ExitOK, with...), "\n")
				slices.Sort(lines)
				return strings.Join(lines, "")
			}
			if got, want := of(packedTo), of(dir); got != want || len(got) == 0 {
				t.Errorf("%q: %s, want %s", args, got, want)
			}
		}
		curtsy(t, app.ExitFailed, "archive", "cat", packedTo, "http://h0000.sim.test/never")
		curtsy(t, app.ExitUsage, "archive", "list", filepath.Join(dir, "none.wacz"))
		if text := zipped(t, packedTo, "pages/pages.jsonl"); !strings.Contains(text, `"title":"Wömbats"`) {
			t.Error(text)
		}
		curtsy(t, app.ExitFailed, "archive", "wacz", "--out", packedTo, dir) // it is there
		curtsy(t, app.ExitUsage, "archive", "wacz", dir)
		curtsy(t, app.ExitUsage, "archive", "wacz", "--out", "docs.zip", dir)
		curtsy(t, app.ExitUsage, "archive", "verify", "--repair", packedTo)
		curtsy(t, app.ExitFailed, "archive", "verify", filepath.Join(dir, "none.wacz"))
		whole, err := os.ReadFile(packedTo)
		if err == nil {
			whole[len(whole)/4] ^= 1 // within the WARC file, of which the rest is the lesser part
			err = os.WriteFile(packedTo, whole, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := curtsy(t, app.ExitFailed, "archive", "verify", packedTo); !strings.Contains(out, "  archive/") {
			t.Error(out)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		index, err := os.ReadFile(files[0] + ".cdxj")
		if err != nil {
			t.Fatal(err)
		}
		// A missing index is written again, identical to the byte.
		if err := os.Remove(files[0] + ".cdxj"); err != nil {
			t.Fatal(err)
		}
		if out := curtsy(t, app.ExitOK, "archive", "index", dir); !strings.HasSuffix(out, " responses\n") {
			t.Error(out)
		}
		if again, err := os.ReadFile(files[0] + ".cdxj"); err != nil || !bytes.Equal(again, index) {
			t.Errorf("%v: %s, was %s", err, again, index)
		}
		if out := curtsy(t, app.ExitOK, "archive", "index", dir); out != "" {
			t.Error(out)
		}
		// An incomplete record at the end.
		text, err := os.ReadFile(files[0])
		if err == nil {
			err = os.WriteFile(files[0], text[:len(text)-20], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := curtsy(t, app.ExitFailed, "archive", "verify", dir); !strings.Contains(out, "  damaged at byte ") {
			t.Error(out)
		}
		if out := curtsy(t, app.ExitOK, "archive", "verify", "--repair", dir); !strings.Contains(out, "  written again: ") {
			t.Error(out)
		}
		curtsy(t, app.ExitOK, "archive", "verify", dir)
		// A file that a killed crawl left open.
		if err := os.Rename(files[0], files[0]+".open"); err != nil {
			t.Fatal(err)
		}
		curtsy(t, app.ExitOK, "archive", "verify", "--repair", dir)
		if _, err := os.Stat(files[0]); err != nil {
			t.Error(err)
		}
		// A record that does not match its digest.
		text, err = os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "other.warc"), bytes.Replace(all, []byte("elsewhere"), []byte("elsewhare"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := curtsy(t, app.ExitFailed, "archive", "verify", dir); !strings.Contains(out, "the block of "+moved+" does not match its digest") {
			t.Error(out)
		}
	})
}
