package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/curtsy/curtsy/internal/confine"
	"golang.org/x/sys/unix"
)

// A browser is started by a guard: this program, started again in its own namespaces. The guard
// limits itself, starts the browser as its child, and ends all processes when its standard input
// is closed, which also happens when the process that started it is killed. In a namespace of
// processes, the kernel ends them with the guard.

// nobody is the user as which a browser runs if this program is root.
const nobody = 65534

// Every program that contains this package can be its own guard, including test programs.
func init() {
	if text := os.Getenv(guardEnv); text != "" {
		os.Exit(guard(text))
	}
}

// guard runs a browser and returns its exit code.
func guard(text string) int {
	runtime.LockOSThread() // the browser ends with this thread
	status := os.NewFile(guardStatus, "status")
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 2
	}
	_ = os.Unsetenv(guardEnv)
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	runtime.GOMAXPROCS(1)
	st := o.confine()
	if err := json.NewEncoder(status).Encode(st); err != nil || st.Err != "" || o.Program == "" {
		return 0
	}
	_ = status.Close()
	return o.run(st)
}

// confine gives up what the browser and this process do not need.
func (o *order) confine() state {
	st := state{User: os.Geteuid()}
	if o.Spaces {
		st.Processes = os.Getpid() == 1
		st.Network = emptyNetwork()
		o.mount(&st)
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if st.User == 0 && !o.SameUser && mayBecome(nobody, "/") {
		st.User = nobody
		if err := o.give(nobody); err != nil {
			st.Err = err.Error()
		}
	}
	st.Sandbox = o.Sandbox && (st.User != 0 || o.SameUser)
	missing := confine.Limit(o.Memory, maxFile)
	if err := confine.Offline(); err != nil {
		missing = append(missing, err.Error())
	} else {
		st.Filter = true
	}
	st.Missing = strings.Join(missing, ", ")
	if !st.Network && !st.Filter {
		st.Err = "neither a namespace without network nor a filter of system calls can be had"
	}
	return st
}

// maxFile is the longest file that a browser may write.
const maxFile = 512 << 20

// emptyNetwork reports whether this process sees no interface but a loopback that is down.
func emptyNetwork() bool {
	b, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return false
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, l := range lines[min(2, len(lines)):] {
		if name, _, _ := strings.Cut(strings.TrimSpace(l), ":"); name != "lo" {
			return false
		}
	}
	r, err := os.ReadFile("/proc/self/net/route")
	return err == nil && strings.Count(strings.TrimSpace(string(r)), "\n") == 0
}

// mount makes file systems of this namespace: one that shows its processes only, and one in memory
// for the profile, which ends with the browser.
func (o *order) mount(st *state) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return
	}
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if o.Dir != "" {
		_ = unix.Mount("tmpfs", o.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size="+strconv.Itoa(maxFile))
	}
}

// give gives the folder of the browser to a user.
func (o *order) give(user int) error {
	if o.Dir == "" {
		return nil
	}
	if err := os.Chown(o.Dir, user, user); err != nil {
		return err
	}
	if !mayBecome(uint32(user), o.Dir) {
		return fmt.Errorf("the browser runs as the user %d, who cannot reach the folder of temporary files %s", user, filepath.Dir(o.Dir))
	}
	return nil
}

// mayBecome reports whether this process could start another as this user, in this folder.
func mayBecome(user uint32, dir string) bool {
	cmd := exec.Command(confine.Self())
	cmd.Dir = dir
	cmd.Env = []string{guardEnv + "={"} // it ends at once, with code 2
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	err := cmd.Run()
	exit, ok := err.(*exec.ExitError)
	return ok && exit.ExitCode() == 2
}

// run starts the browser and waits until it has ended, or must end.
func (o *order) run(st state) int {
	args := o.Args
	if !st.Sandbox {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(o.Program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = o.Env, o.Dir, os.Stderr, os.Stderr
	in, out := os.NewFile(toBrowser, "to"), os.NewFile(fromBrowser, "from")
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 && st.User != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(st.User), Gid: uint32(st.User)}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	_, _ = in.Close(), out.Close()
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it or is gone
		close(over)
	}()
	ended := make(chan int, 1)
	go func() { ended <- reap(cmd.Process.Pid) }()
	code := 0
	select {
	case code = <-ended:
	case <-over:
	}
	if !st.Processes {
		killBelow(os.Getpid())
		_ = os.RemoveAll(o.Dir) // the parent may have been killed
	}
	return code
}

// reap waits for all children, until this one has ended.
func reap(browser int) int {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == browser {
			return ws.ExitStatus()
		}
	}
}

// killBelow kills all descendants of a process, until there are none. Those whose parents end
// become its children.
func killBelow(pid int) {
	for range 100 {
		list := descendants(pid)
		if len(list) == 0 {
			return
		}
		for _, p := range list {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
		for {
			if p, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || p <= 0 {
				break
			}
		}
	}
}

// descendants lists the processes below one, as far as they have not ended.
func descendants(pid int) (list []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := map[int]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// The name, in parentheses, may contain anything.
		text := string(b)
		rest := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		id, err1 := strconv.Atoi(strings.Split(f, "/")[2])
		if len(rest) < 2 || err1 != nil || rest[0] == "Z" {
			continue
		}
		if parent, err := strconv.Atoi(rest[1]); err == nil {
			parents[id] = parent
		}
	}
	for id := range parents {
		for p, steps := parents[id], 0; p != 0 && steps < 100; p, steps = parents[p], steps+1 {
			if p == pid {
				list = append(list, id)
				break
			}
		}
	}
	return list
}

// attributes are the ways to start a guard, the best first. nil stands for no namespaces.
func attributes() []*syscall.SysProcAttr {
	spaces := uintptr(unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC)
	user, group := os.Geteuid(), os.Getegid()
	inUser := &syscall.SysProcAttr{
		Cloneflags: spaces | unix.CLONE_NEWUSER, Setpgid: true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	if user == 0 {
		return []*syscall.SysProcAttr{{Cloneflags: spaces, Setpgid: true}, nil}
	}
	return []*syscall.SysProcAttr{inUser, nil}
}
