package command

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUOf is the CPU time that a process has used so far, to a hundredth of a second; 0 where the
// system does not tell.
func CPUOf(pid int) (d time.Duration) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // the process may have ended
	_, rest, _ := strings.Cut(string(text), ") ")                  // its name may have spaces
	fields := strings.Fields(rest)
	const user, system = 11, 12
	for _, i := range []int{user, system} {
		if i < len(fields) {
			ticks, _ := strconv.Atoi(fields[i])
			d += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return d
}
