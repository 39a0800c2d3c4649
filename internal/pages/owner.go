package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// The lock on the file decides who owns it. The owner note next to it only informs people. A killed
// process leaves its note behind, which does no harm: the note is read only while the file is
// locked, and the next writer replaces it.

// note is the content of `<file>.owner`.
type note struct {
	PID     int       `json:"pid"`
	Machine string    `json:"machine"`
	Command string    `json:"command"` // its name: arguments may hold passwords
	Since   time.Time `json:"since"`
}

// writeOwner writes a note next to path and returns its path. It returns "" if that failed, because
// the store works without a note.
func writeOwner(path string) string {
	machine, _ := os.Hostname()
	b, err := json.Marshal(note{PID: os.Getpid(), Machine: machine, Command: filepath.Base(os.Args[0]),
		Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return ""
	}
	name := path + ".owner"
	if err := disk.Replace(name, append(b, '\n')); err != nil {
		return ""
	}
	return name
}

// readOwner describes, for people, the process that has locked path.
func readOwner(path string) string {
	var n note
	b, err := disk.ReadRegular(path + ".owner")
	if err != nil || json.Unmarshal(b, &n) != nil {
		return "a command that reads it; try again when the command has ended"
	}
	machine, _ := os.Hostname()
	if n.Machine == machine && !alive(n.PID) {
		return fmt.Sprintf("a command that reads it (its last writer, process %d, has ended); try again when the command has ended", n.PID)
	}
	return fmt.Sprintf("process %d on %s (%s), since %s; stop it, or query it", n.PID, n.Machine, n.Command,
		n.Since.Format(time.RFC3339))
}

// alive reports whether a process with this number exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return signalZero(p)
}
