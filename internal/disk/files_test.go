package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Too many open files are not mistaken for a full disk, and the message says what to do, once.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string // "": nothing is added
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, "ulimit -n"},
		{fmt.Errorf("accept: %w", os.NewSyscallError("accept4", syscall.ENFILE)), "fs.file-max"},
		{errors.New("nats: API error: open 1.blk: too many open files"), "ulimit -n"},
		{fmt.Errorf("write: %w", syscall.ENOSPC), ""},
		{nil, ""},
	} {
		got := Explain(c.err)
		if c.want == "" {
			if got != c.err {
				t.Errorf("%v became %v", c.err, got)
			}
			continue
		}
		again := Explain(fmt.Errorf("the shard: %w", got)).Error()
		if !strings.Contains(got.Error(), c.want) || strings.Count(again, c.want) != 1 || !errors.Is(got, c.err) {
			t.Errorf("%v became %v, and then %s", c.err, got, again)
		}
	}
	if !OutOfFiles(os.NewSyscallError("accept4", syscall.EMFILE)) || OutOfFiles(syscall.ENOSPC) || MaxFiles() < 16 {
		t.Error("a full disk means that files ran out, or too many files do not")
	}
}
