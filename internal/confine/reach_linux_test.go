package confine_test

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reach prints how a confined process can reach its parent, or the terminal of its user.
func reach(parent int) {
	refused := func(what string, err error) {
		if err != unix.EPERM {
			fmt.Println(what, err)
		}
	}
	// Signal 0 only asks whether a signal could be sent, and no limit is changed.
	refused("it sends signals to its parent:", unix.Tgkill(parent, parent, 0))
	var now unix.Rlimit
	refused("it reads and sets limits of its parent:", unix.Prlimit(parent, unix.RLIMIT_CPU, nil, &now))
	const setOwn, setSig = 8, 10
	_, err := unix.FcntlInt(os.Stdout.Fd(), setOwn, parent)
	refused("it has its parent receive the signals of a file:", err)
	_, err = unix.FcntlInt(os.Stdout.Fd(), setSig, int(unix.SIGKILL))
	refused("it chooses the signal of a file:", err)
	refused("it types into a terminal:", unix.IoctlSetPointerInt(1, unix.TIOCSTI, 'a'))
	if err := unix.Prlimit(0, unix.RLIMIT_CPU, nil, &now); err != nil {
		fmt.Println("it does not see its own limits:", err)
	}
}
