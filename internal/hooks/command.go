package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// commandWithin is how long a command may run. Then it is ended, with what it has started.
	commandWithin = time.Minute
	// maxOutput is how much of the output of a command is logged, in bytes.
	maxOutput = 4 << 10
	// maxCommand is the largest size of a command, in bytes.
	maxCommand = 4 << 10
	// shell runs commands that need one.
	shell = "/bin/sh"
	// special are the letters for which a command needs a shell. Without one of them its words are
	// those between blanks.
	special = "\"'`\\$&|;<>(){}[]*?~#\n"
)

func commandProblem(command string) string {
	switch {
	case command == "":
		return ""
	case strings.TrimSpace(command) == "":
		return "has no command; use for example /usr/local/bin/notify, or a URL"
	case len(command) > maxCommand:
		return fmt.Sprintf("is longer than %d KiB; write a script and use its name", maxCommand>>10)
	case strings.ContainsRune(command, 0):
		return "has a zero byte; use for example /usr/local/bin/notify"
	}
	return ""
}

// words is what is executed for a command.
func words(command string) []string {
	if strings.ContainsAny(command, special) {
		return []string{shell, "-c", command}
	}
	return strings.Fields(command)
}

// run runs a command with a report as its standard input. Its output is logged, up to a limit. The
// command does not see our own settings in its environment, because some are secret.
func run(ctx context.Context, log *slog.Logger, command string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	argv := words(command)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(body)
	out := &head{}
	cmd.Stdout, cmd.Stderr = out, out
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CURTSY_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.WaitDelay = 2 * time.Second // for the output of what it has started
	// What it has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if text := strings.TrimSpace(strings.ToValidUTF8(out.text.String(), "\uFFFD")); text != "" {
		log.Info("output of the hook", "output", text, "cut", out.cut)
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s was ended after %v", argv[0], commandWithin)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it has done its work, and left something running
	case err != nil:
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// head keeps the beginning of what is written to it.
type head struct {
	text bytes.Buffer
	cut  bool
}

// Write never fails, so that a command with much output goes on.
func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), maxOutput-h.text.Len())
	h.cut = h.cut || keep < len(p)
	h.text.Write(p[:keep])
	return len(p), nil
}
