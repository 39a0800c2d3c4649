package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// startPostgres makes and starts a database in a folder, with the settings of a new one.
func startPostgres(dir string) (to string, stop func(), err error) {
	var user *syscall.Credential
	if os.Getuid() == 0 { // it does not run as root
		user = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			return "", nil, err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
			name = found[len(found)-1]
		}
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: user}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "feed", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=")
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Signal(syscall.SIGINT) // ends connections as well
		_ = server.Wait()
	}
	for command("pg_isready", "-q", "-h", dir).Run() != nil {
		time.Sleep(50 * time.Millisecond)
	}
	return "postgres://feed@/postgres?host=" + url.QueryEscape(dir) + "&table=pages", stop, nil
}
