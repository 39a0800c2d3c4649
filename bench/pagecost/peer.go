package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peerRound is one crawl of the site by wget2.
type peerRound struct {
	wall, cpu time.Duration
	files     int
}

// perPage is its CPU time for a page.
func (p peerRound) perPage() float64 { return micros(p.cpu) / float64(max(p.files, 1)) }

// peersPossible says what is missing for running wget2, or nil. The site's names are nobody's and
// wget2 cannot be told where they lead, so it gets a hosts file of its own, in a mount namespace,
// and the server the port that URLs do not name.
func peersPossible() error {
	if os.Geteuid() != 0 {
		return errors.New("-peers needs root, for a hosts file in a mount namespace and for port 80 of a loopback address")
	}
	for _, tool := range []string{"wget2", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("-peers: %w", err)
		}
	}
	return nil
}

// wget2Args are what it is called with: the whole site, robots.txt obeyed, a file a page
// and nothing beside it.
func wget2Args(dir, seed string) []string {
	return []string{"--no-config", "--quiet", "--recursive", "--level=inf", "--span-hosts", "--domains=sim.test", "--robots=on",
		"--tries=1", "--no-xattr", "--directory-prefix=" + dir, seed}
}

// peerDir is where its files go: to memory where there is such a place, which is the
// kindest that can be done. A new file on a disk's file system may cost the kernel several
// times what wget2 itself does.
func peerDir(parent string) string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return parent
}

// exitServer is wget2's exit code when some answer was an error.
const exitServer = 8

// wget2 crawls the site with it into a new directory. Version 1.99 asks for
// "?lang=en&amp;view=full" as it stands in the page, so it misses the one page in 17 whose address
// has a query and gets as many short 404s instead: what counts are the pages it has.
func wget2(ctx context.Context, s settings, parent string) (p peerRound, err error) {
	ip := fmt.Sprintf("127.77.%d.%d", os.Getpid()>>8&0xff, os.Getpid()&0xff|1)
	web, err := startSite(ctx, s, ip+":80")
	if err != nil {
		return p, err
	}
	defer web.stop()
	dir, err := os.MkdirTemp(peerDir(parent), "curtsy-wget2-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	hosts := filepath.Join(parent, "hosts")
	if err := os.WriteFile(hosts, []byte(ip+" "+strings.Join(web.Hosts, "\n"+ip+" ")+"\n"), 0o644); err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	args := append([]string{"--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec wget2 "$@"`, hosts}, wget2Args(dir, web.Seeds[0])...)
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Env = append(os.Environ(), "http_proxy=")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	start := time.Now()
	err = cmd.Run()
	p.wall, p.cpu = time.Since(start), processCPU(cmd.ProcessState)
	if err != nil && cmd.ProcessState.ExitCode() != exitServer {
		return p, fmt.Errorf("wget2: %w: %.300s", err, said.String())
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "robots.txt" {
			p.files++
		}
		return err
	})
	if err == nil && p.files < web.Pages*9/10 {
		err = fmt.Errorf("wget2: the site has %d pages, %d files were written: nothing to compare with", web.Pages, p.files)
	}
	return p, err
}
