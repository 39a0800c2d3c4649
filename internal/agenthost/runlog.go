package agenthost

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/mobile"
)

// runLogName is the file in the data folder with a line for each run.
const runLogName = "runs.jsonl"

// logLine is a line of the run log.
type logLine struct {
	Time    time.Time `json:"time"` // of the run's start
	Robot   string    `json:"robot"`
	Client  string    `json:"client"`
	Subtree string    `json:"subtree"`
	Token   string    `json:"token"`
	mobile.Summary
}

// logRun appends a line for a run that has ended. The file may be renamed at any time.
func logRun(dir string, r *record) error {
	line, err := json.Marshal(logLine{r.Started.UTC().Truncate(time.Second), r.Robot, r.Client, r.Subtree, r.Token, r.Summary})
	if err != nil {
		return err
	}
	f, err := disk.OpenRegular(filepath.Join(dir, runLogName), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// maxShown is how many runs Runs shows.
const maxShown = 50

// Runs writes a table of the last runs in the data folder dir to w.
func Runs(dir string, w io.Writer) error {
	f, err := disk.OpenRegular(filepath.Join(dir, runLogName), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		_, err = fmt.Fprintln(w, "no robot has run here yet")
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var last []logLine
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return err
			}
			break
		}
		var l logLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // a line that was cut when the disk was full
		}
		if last = append(last, l); len(last) > 2*maxShown {
			last = append(last[:0], last[len(last)-maxShown:]...)
		}
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TIME\tROBOT\tCLIENT\tSUBTREE\tDOCUMENTS\tREAD\tSENT\tCPU\tOUTCOME")
	for _, l := range last[max(0, len(last)-maxShown):] {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%.1fs\t%s\n", l.Time.Format(time.DateTime), l.Robot, l.Client, l.Subtree, l.Documents, l.Read, l.Sent, l.CPU, l.Outcome)
	}
	return t.Flush()
}
