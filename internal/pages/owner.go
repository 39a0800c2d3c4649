package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// The lock on the file decides who owns it; the owner note beside it only tells people who that is.
// A process that was killed leaves its note behind, harmlessly: it is read only when the lock is
// held, and whoever takes the lock for writing replaces it.

// note is the content of `<file>.owner`.
type note struct {
	PID     int       `json:"pid"`
	Machine string    `json:"machine"`
	Command string    `json:"command"` // its name: arguments may hold passwords
	Since   time.Time `json:"since"`
}

// writeOwner leaves a note beside path and returns the note's path, "" when it could not be
// written: that is no reason not to work.
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

// readOwner says, for people, who holds path.
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
