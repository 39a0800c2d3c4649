package worker

import (
	"bytes"
	"context"
	"fmt"
	"html"
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
	out := &bounded{most: most}
	cmd.Stdout = out
	cmd.WaitDelay = time.Second // for what it may have started, which holds the pipes as well
	if err := cmd.Run(); err != nil && !out.cut {
		return "", false, err
	}
	return strings.ToValidUTF8(string(out.b), "\ufffd"), out.cut, nil
}

// bounded keeps so many bytes, and takes no more.
type bounded struct {
	most int
	b    []byte
	cut  bool
}

func (o *bounded) Write(b []byte) (int, error) {
	if room := o.most - len(o.b); len(b) > room {
		o.b, o.cut = append(o.b, b[:room]...), true
		return room, errLong
	}
	o.b = append(o.b, b...)
	return len(b), nil
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
