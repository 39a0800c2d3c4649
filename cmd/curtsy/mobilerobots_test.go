package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/simweb"
)

// A crawl in one process sends mobile robots exactly if it has a key for them, whatever an earlier
// run had.
func TestCrawlSendsRobotsWithKey(t *testing.T) {
	virtual(t, func(t *testing.T) {
		dir := t.TempDir()
		key := filepath.Join(dir, "robot.pem")
		curtsy(t, 0, "agenthost", "key", key)
		w := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 3, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }})
		// The crawl log has each change of a setting.
		changes := func() int {
			text, err := os.ReadFile(filepath.Join(dir, "data", "crawl.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Count(string(text), "send-robots")
		}
		for i, more := range [][]string{nil, {"--mobile-robots", key}, {"--mobile-robots", key}, nil} {
			curtsy(t, 0, append([]string{"crawl", "--dir", filepath.Join(dir, "data"), "--listen", "off", "--progress", "none", "--allow-private", "--delay", "0s", "--resolve", w.Resolve(), w.Seeds()[0]}, more...)...)
			if got, want := changes(), []int{0, 1, 1, 2}[i]; got != want {
				t.Errorf("after run %d the setting was changed %d times, want %d", i, got, want)
			}
		}
	})
}
