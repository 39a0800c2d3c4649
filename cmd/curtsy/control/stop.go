package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/service"
)

// stop ends the processes that run a crawl.
func stop(ctx context.Context, t target, _ []string) (string, error) {
	processes, err := service.Stop(ctx, t.Queue.NC, crawl.Names(t.Spec.Name))
	if err != nil {
		return "", err
	}
	if len(processes) == 0 {
		return "", fmt.Errorf("no process is running crawl %q, so there is nothing to stop; curtsy crawl resumes it", t.Spec.Name)
	}
	// The process no longer answers, but it is still closing its files.
	for t.cfg.URL == "" && engine.Alive(t.cfg.Dir) {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%s was asked to stop but still uses %s; try again, or end its process", processes[0], t.cfg.Dir)
		case <-time.After(20 * time.Millisecond):
		}
	}
	var lines []string
	for _, p := range processes {
		lines = append(lines, fmt.Sprint("stopped ", p))
	}
	return strings.Join(lines, "\n"), nil
}
