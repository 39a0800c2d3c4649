// Command feed measures how fast a feed sends stored pages to each kind of sink, and how much
// memory it takes:
//
//	go run ./feed [-pages 100000] [-shards 4] [-bytes 4096] [-sinks webhook,s3] [-profile FOLDER]
//	go run ./feed -to URL
//
// It makes page stores once. For each sink, one process feeds them, and another one is the server:
// a webhook, a search server and S3 that store nothing or little, NATS, and Debian's PostgreSQL. It
// reports pages a second, the CPU of the feeding process, and its anonymous memory, before, when it
// has the crawl open, and at most. With -to it feeds a sink that runs already.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	n := flag.Int("pages", 100_000, "pages")
	shards := flag.Int("shards", 4, "shards")
	size := flag.Int("bytes", 4096, "bytes of a page, about")
	names := flag.String("sinks", strings.Join(kinds, ","), "which sinks are fed")
	to := flag.String("to", "", "URL of a sink that runs already")
	profile := flag.String("profile", "", "folder for profiles of the heap when it was largest")
	receiver := flag.String("receive", "", "be the server of this sink (used by this program)")
	dir := flag.String("dir", "", "feed the page stores in this folder (used by this program)")
	flag.Parse()
	var err error
	switch {
	case *receiver != "":
		err = receive(*receiver)
	case *dir != "":
		err = feedTo(os.Stdout, *dir, *shards, *to, *profile)
	default:
		err = measure(*n, *shards, *size, strings.Split(*names, ","), *to, *profile)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure makes the stores and feeds the sinks one after another.
func measure(n, shards, size int, names []string, to, profile string) error {
	dir, err := os.MkdirTemp("", "curtsy-feed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := store(dir, n, shards, size); err != nil {
		return err
	}
	if to != "" {
		names = []string{to}
	}
	fmt.Println("| sink | pages/s | µs of CPU a page | MiB before | MiB at most | MiB more |\n|---|---:|---:|---:|---:|---:|")
	for _, name := range names {
		if err := one(name, dir, shards, n, to, profile); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// one feeds a sink.
func one(name, dir string, shards, n int, to, profile string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if to == "" {
		var stop func()
		if to, stop, err = start(self, name); err != nil {
			return err
		}
		defer stop()
	}
	args := []string{"-dir", dir, "-shards", fmt.Sprint(shards), "-to", to}
	if profile != "" {
		args = append(args, "-profile", filepath.Join(profile, name+".pb.gz"))
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=K", "AWS_SECRET_ACCESS_KEY=secret")
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	if r.Pages != int64(n) {
		return fmt.Errorf("%d pages were accepted of %d", r.Pages, n)
	}
	const mib = 1 << 20
	fmt.Printf("| %s | %.0f | %.0f | %d | %d | %d |\n", name, float64(r.Pages)/r.Took.Seconds(), float64(r.CPU.Microseconds())/float64(r.Pages), r.Before/mib,
		r.Most/mib, (r.Most-r.Before)/mib)
	return nil
}

// start starts the server of a sink, which prints the URL of the sink and ends with its standard
// input.
func start(self, name string) (to string, stop func(), err error) {
	cmd := exec.Command(self, "-receive", name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	if to, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("the server: %w", err)
	}
	return strings.TrimSpace(to), stop, nil
}
