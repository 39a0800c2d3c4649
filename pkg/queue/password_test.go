package queue

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/curtsy/curtsy/internal/simnet"
)

// A password may change while the process runs: its file is read again for each connection. While
// the file does not exist, the password is the one from the start.
func TestARotatedPasswordFileIsReadAgain(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var o *server.Options
		n := natsServer(t, func(given *server.Options) {
			o = given.Clone()
			o.DontListen, o.Users = true, []*server.User{{Username: "frontier", Password: "old"}}
			*given = *o.Clone()
		})
		file := filepath.Join(t.TempDir(), "password")
		check(t, os.WriteFile(file, []byte("old\n"), 0o600))
		c, err := Dial(t.Context(), Options{InProcess: n, User: "frontier", Password: "old", PasswordFile: file}, testLog(t))
		check(t, err)
		t.Cleanup(func() { c.Close() })
		back := func(when string, reconnects uint64) {
			t.Helper()
			for range 600 {
				if c.NC.IsConnected() && c.NC.Stats().Reconnects >= reconnects {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("%s: not connected again: %v", when, c.NC.LastError())
		}
		check(t, os.Remove(file))
		check(t, c.NC.ForceReconnect())
		back("without the file", 1)
		next := o.Clone()
		next.Users = []*server.User{{Username: "frontier", Password: "new"}}
		check(t, os.WriteFile(file, []byte("new\r\n"), 0o600))
		check(t, n.ReloadOptions(next))
		back("with another password", 2)
	})
}
