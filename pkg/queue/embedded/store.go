package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nuid"
)

// markRunning creates a marker that only Shutdown removes, and reports whether the previous run
// removed its marker.
func markRunning(dir string) (bootID string, clean bool, err error) {
	bootID = nuid.Next()
	name := filepath.Join(dir, "running")
	_, err = os.Stat(name)
	clean = errors.Is(err, os.ErrNotExist)
	if err != nil && !clean {
		return "", false, err
	}
	// Create a new file, because writing through a link would change a file elsewhere.
	if err := os.Remove(name); err != nil && !clean {
		return "", false, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", false, err
	}
	_, err = fmt.Fprintln(f, bootID)
	if err == nil {
		err = f.Sync()
	}
	return bootID, clean, errors.Join(err, f.Close(), syncDir(dir))
}

func markStopped(dir string) error {
	if err := os.Remove(filepath.Join(dir, "running")); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes sure that a name created or removed in dir survives a power cut, on file systems
// that support it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// checkStore compares the streams on disk with the streams that the server has opened. The server
// skips a stream that it cannot read, and the next user of that stream would get an empty stream
// without an error.
func checkStore(dir string, ns *server.Server, out *logger) error {
	streams := filepath.Join(dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams")
	onDisk, err := os.ReadDir(streams)
	if err != nil {
		return nil // nothing is stored yet
	}
	info, err := ns.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return fmt.Errorf("read back the streams: %w", err)
	}
	up := map[string]bool{}
	for _, a := range info.AccountDetails {
		for _, st := range a.Streams {
			up[st.Name] = true
		}
	}
	for _, d := range onDisk {
		if !d.IsDir() || up[d.Name()] || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		return fmt.Errorf("%w: stream %s cannot be read (%s): to continue without its messages, move %s away",
			ErrCorrupt, d.Name(), strings.Join(out.startTroubles(), "; "), filepath.Join(streams, d.Name()))
	}
	return nil
}
