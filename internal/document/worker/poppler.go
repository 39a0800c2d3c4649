package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/document"
)

// pdftotext of poppler instead of our own reader, where the operator prefers it: it knows fonts
// that we do not. It tells text alone, so title and links come from our own reading all the same.

// become makes this process pdftotext, bounded. It returns only if that fails.
func become(program string, memory int64, life time.Duration) int {
	beforeExec(memory, life)
	// An argument of its own for the file: what is read comes from standard input, whatever it
	// holds.
	err := syscall.Exec(program, []string{"pdftotext", "-q", "-enc", "UTF-8", "-nopgbrk", "-", "-"}, []string{"LC_ALL=C.UTF-8", "HOME=/nonexistent"})
	fmt.Fprintln(os.Stderr, err)
	return codeStart
}

// poppler reads the text of a PDF.
func (p *Pool) poppler(ctx context.Context, body []byte, most int) (text string, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.opt.Wall)
	defer cancel()
	cmd := exec.CommandContext(ctx, self())
	cmd.Args = []string{os.Args[0]}
	cmd.Env = []string{childEnv + "=1", memoryEnv + "=" + strconv.FormatInt(2*p.opt.Memory, 10), cpuEnv + "=" + seconds(p.opt.CPU), popplerEnv + "=" + p.opt.PDFToText}
	cmd.Stdin = bytes.NewReader(body)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", false, err
	}
	if err := cmd.Start(); err != nil {
		return "", false, err
	}
	b, err := io.ReadAll(io.LimitReader(out, int64(most)+1))
	if len(b) > most {
		b, cut = b[:most], true
		_ = cmd.Process.Kill()
	}
	if ended := cmd.Wait(); !cut && (ended != nil || err != nil) {
		return "", false, errors.Join(ended, err)
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), cut, nil
}

// withText is a page whose text is another one: title and links stay.
func withText(ours document.Page, text string, cut bool) document.Page {
	head, links := "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">", ""
	if i := bytes.Index(ours.HTML, []byte("</head>")); i >= 0 {
		head = string(ours.HTML[:i])
	}
	for rest := string(ours.HTML); ; {
		_, after, ok := strings.Cut(rest, `<a href="`)
		if !ok {
			break
		}
		var u string
		u, rest, _ = strings.Cut(after, `"`)
		links += `<a href="` + u + "\"></a>\n"
	}
	var b strings.Builder
	b.WriteString(head + "</head><body>\n")
	for para := range strings.SplitSeq(text, "\n\n") {
		if s := strings.Join(strings.Fields(para), " "); s != "" {
			b.WriteString("<p>" + html.EscapeString(s) + "</p>\n")
		}
	}
	b.WriteString(links + "</body></html>\n")
	return document.Page{HTML: []byte(b.String()), Cut: ours.Cut || cut}
}
