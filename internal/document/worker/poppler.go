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

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/document"
)

// An operator may prefer pdftotext of poppler, which knows more fonts than our reader. It returns
// only text, so title and links still come from our reader.

// become replaces this process by pdftotext, with limits. It returns only if that fails.
func become(program string, memory int64, life time.Duration) int {
	confine.BeforeExec(memory, life)
	// The "-" argument makes it read standard input, whatever that contains.
	err := syscall.Exec(program, []string{"pdftotext", "-q", "-enc", "UTF-8", "-nopgbrk", "-", "-"}, []string{"LC_ALL=C.UTF-8", "HOME=/nonexistent"})
	fmt.Fprintln(os.Stderr, err)
	return codeStart
}

// poppler reads the text of a PDF.
func (p *Pool) poppler(ctx context.Context, body []byte, most int) (text string, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.opt.Wall)
	defer cancel()
	cmd := exec.CommandContext(ctx, confine.Self())
	cmd.Args = []string{os.Args[0]}
	cmd.Env = []string{childEnv + "=1", memoryEnv + "=" + strconv.FormatInt(2*p.opt.Memory, 10), cpuEnv + "=" + seconds(p.opt.CPU), popplerEnv + "=" + p.opt.PDFToText}
	cmd.Stdin = bytes.NewReader(body)
	out := &bounded{most: most}
	cmd.Stdout = out
	cmd.WaitDelay = time.Second // for processes that it has started, which have the pipes open too
	if err := cmd.Run(); err != nil && !out.cut {
		return "", false, err
	}
	return strings.ToValidUTF8(string(out.b), "\ufffd"), out.cut, nil
}

// bounded stores a limited number of bytes, and returns an error beyond that.
type bounded struct {
	most int
	b    []byte
	cut  bool
}

func (o *bounded) Write(b []byte) (int, error) {
	if left := o.most - len(o.b); len(b) > left {
		o.b, o.cut = append(o.b, b[:left]...), true
		return left, errLong
	}
	o.b = append(o.b, b...)
	return len(b), nil
}

// withText replaces the text of a page. Title and links stay.
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
