package broker

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/curtsy/curtsy/pkg/queue"
)

var (
	clustered = regexp.MustCompile(`(?s)\ncluster \{.*?\n\}\n`)
	secrets   = regexp.MustCompile(`\$[A-Z]+_PASSWORD`)
)

// Roles starts a single server with the users of a configuration file, deploy/nats.cluster.conf,
// and returns a function that connects to it in a role.
func Roles(t testing.TB, file string) (dial func(role string) *queue.Conn) {
	t.Helper()
	const password = "p0123456789"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(conf, secrets.ReplaceAll(clustered.ReplaceAll(text, []byte("\n")), []byte(password)), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.DontListen, o.HTTPHost, o.HTTPPort, o.NoSigs, o.NoLog, o.StoreDir = true, "", 0, true, true, filepath.Join(dir, "store")
	n, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return func(role string) *queue.Conn {
		t.Helper()
		return dialWith(t, queue.Options{InProcess: n, User: role, Password: password, Inbox: role})
	}
}
