package command

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUOf returns the CPU time that a process has used so far, in hundredths of a second; 0 if the
// system does not report it.
func CPUOf(pid int) (d time.Duration) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // the process may have ended
	_, after, _ := strings.Cut(string(text), ") ")                 // its name may have spaces
	fields := strings.Fields(after)
	const user, system = 11, 12
	for _, i := range []int{user, system} {
		if i < len(fields) {
			ticks, _ := strconv.Atoi(fields[i])
			d += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return d
}
