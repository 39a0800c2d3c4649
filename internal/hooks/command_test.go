package hooks

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for command, want := range map[string][]string{
		"/bin/notify":              {"/bin/notify"},
		"  notify  -v ops ":        {"notify", "-v", "ops"},
		"cat >> /tmp/x":            {shell, "-c", "cat >> /tmp/x"},
		"mail -s 'it is done' ops": {shell, "-c", "mail -s 'it is done' ops"},
		"notify $HOME":             {shell, "-c", "notify $HOME"},
	} {
		if got := words(command); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// A command reads the report, its output is logged, and our settings are not in its environment.
func TestCommand(t *testing.T) {
	t.Setenv("CURTSY_NATS_PASSWORD", "swordfish")
	to := filepath.Join(t.TempDir(), "report")
	var log strings.Builder
	h := New(Options{Crawl: "docs", OnDone: fmt.Sprintf("cat > %s; env; echo heard >&2", to), Memory: &memory{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	h.End(t.Context(), Cause{Kind: KindDone, Text: "everything is stored"})
	data, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil || r.Crawl != "docs" || r.Event != EventEnd || r.Cause.Text != "everything is stored" {
		t.Errorf("%s, %v", data, err)
	}
	if text := log.String(); !strings.Contains(text, "heard") || strings.Contains(text, "swordfish") {
		t.Errorf("the log lacks the output, or has a secret: %s", text)
	}
}

// Of much output the beginning is logged, and the command goes on to its end.
func TestCommandWithMuchOutput(t *testing.T) {
	to := filepath.Join(t.TempDir(), "end")
	var log strings.Builder
	err := run(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), fmt.Sprintf("head -c 300000 /dev/zero | tr '\\0' x; echo end > %s", to), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(to); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "x"); n < maxOutput || n > maxOutput+100 || !strings.Contains(log.String(), "cut=true") {
		t.Errorf("%d letters of the output are logged, want about %d", n, maxOutput)
	}
}

// A command that fails, or that does not exist, is an error that names it.
func TestCommandFails(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if err := run(t.Context(), log, "exit 3", nil); err == nil || !strings.Contains(err.Error(), "exit") {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), log, "sh -c 'exit 3'", nil); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), log, "/nowhere/notify now", nil); err == nil || !strings.Contains(err.Error(), "/nowhere/notify") {
		t.Errorf("%v", err)
	}
}
