package term

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/curtsy/curtsy/internal/config"
)

// A log, for people or for programs, says what to do when too many files are open.
func TestLogExplainsFiles(t *testing.T) {
	err := &os.PathError{Op: "open", Path: "pages-0.db", Err: syscall.EMFILE}
	for _, c := range []config.Common{{LogLevel: config.AutoLevel, LogFormat: config.AutoFormat}, {LogLevel: "info", LogFormat: "json"}} {
		var out bytes.Buffer
		ServiceLog(c, slog.LevelWarn, &out, new(Recently)).Warn("the shard stopped", "err", err)
		if got := out.String(); !strings.Contains(got, "pages-0.db") || !strings.Contains(got, "ulimit -n 65536") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
