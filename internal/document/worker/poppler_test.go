package worker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// writeProgram writes a script that can be started at once. While the script is open for writing,
// no process may be forked: it would have the file open until it executes its own program, and
// Linux refuses to execute a file that is open for writing (ETXTBSY). A fork locks ForkLock for
// writing, so it waits for this.
func writeProgram(t *testing.T, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// If pdftotext is preferred, the text comes from it, and title and links from our reader. If it
// fails, the text comes from our reader as well.
func TestPDFToText(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	sample := documenttest.Content{Title: "The title", Text: "Our words", Link: "https://a.example/?a&b"}
	for script, want := range map[string][]string{
		"tail -c 0; echo 'Its <words>'; echo; echo more": {"<title>The title</title>", "<p>Its &lt;words&gt;</p>\n<p>more</p>", `<a href="https://a.example/?a&amp;b">`},
		"exit 1": {"<title>The title</title>", "<p>Our words</p>"},
	} {
		program := filepath.Join(t.TempDir(), "pdftotext")
		writeProgram(t, program, script+"\n")
		p := New(Options{PDFToText: program, Wall: time.Hour}) // the machine may be slow
		page, err := p.Read(t.Context(), document.File{Type: document.PDF, Body: sample.PDF()}, nil)
		p.Close()
		for _, w := range want {
			if err != nil || !bytes.Contains(page.HTML, []byte(w)) {
				t.Errorf("%s: %v: no %q in %s", script, err, w, page.HTML)
			}
		}
	}
}

// pdftotext cannot change files or end processes, even if a hostile file controls it.
func TestPDFToTextConfined(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("system calls are refused on Linux on amd64 and arm64")
	}
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sleeper.Process.Kill(); err != nil {
			t.Error("another process was ended")
		}
		_ = sleeper.Wait()
	}()
	deeds := []string{
		"rm -f " + kept, ": >" + kept, "echo more >>" + kept, "truncate -s 0 " + kept, "chmod 777 " + kept, "mv " + kept + " " + kept + "2", "ln -s x " + dir + "/link",
		"touch " + dir + "/new", "mkdir " + dir + "/folder", "kill -9 " + strconv.Itoa(sleeper.Process.Pid), "cat " + kept,
	}
	program := filepath.Join(dir, "pdftotext")
	script := ""
	for _, deed := range deeds {
		script += "( " + deed + " ) && echo done: '" + strings.Fields(deed)[0] + "'\n"
	}
	writeProgram(t, program, script+"exit 0\n")
	p := New(Options{PDFToText: program, Wall: time.Hour})
	defer p.Close()
	page, err := p.Read(t.Context(), document.File{Type: document.PDF, Body: documenttest.Content{Text: "x"}.PDF()}, nil)
	if err != nil || !bytes.Contains(page.HTML, []byte("<p>wordsdone: cat</p>")) {
		t.Errorf("%v: it did more than read, or not even that: %s", err, page.HTML)
	}
	here, err := os.ReadDir(dir)
	if b, e := os.ReadFile(kept); err != nil || e != nil || string(b) != "words" || len(here) != 2 {
		t.Errorf("%v %v %q %v", err, e, b, here)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// If a program starts pdftotext instead of being it, we do not wait longer than the limit for it,
// even if a process that it started keeps the pipes open. Output beyond the limit is not read.
func TestPDFToTextWrapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "pdftotext")
	run := func(script string, wall time.Duration) (string, bool, error) {
		writeProgram(t, program, script+"\n")
		return New(Options{PDFToText: program, Wall: wall}).poppler(t.Context(), bytes.Repeat([]byte("x"), 1<<20), 1000)
	}
	if text, _, err := run("echo words; sleep 60; echo more", 300*time.Millisecond); err == nil || strings.Contains(text, "more") {
		t.Errorf("%q, %v", text, err)
	}
	if text, cut, err := run("while :; do echo words; done", time.Minute); err != nil || !cut || len(text) != 1000 || !strings.HasPrefix(text, "words\nwords") {
		t.Errorf("%d bytes, cut %v, %v", len(text), cut, err)
	}
	if text, cut, err := run("cat >/dev/null; echo words", time.Minute); err != nil || cut || text != "words\n" {
		t.Errorf("%q, cut %v, %v", text, cut, err)
	}
}
