package config

import (
	"log/slog"

	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/prometheus/client_golang/prometheus"
)

// Queue returns the options of a connection of the process called name to the server at URL.
func (n NATS) Queue(name string) queue.Options {
	return queue.Options{
		URL: n.URL, Name: name, Inbox: "operator", Replicas: n.Replicas,
		User: n.User, Password: string(n.Password), PasswordFile: n.PasswordFile, CredsFile: n.Creds, NKeyFile: n.NKey,
		CAFile: n.CA, CertFile: n.Cert, KeyFile: n.Key,
	}
}

// MailOptions returns how reports are received.
func (m Mail) MailOptions(reg prometheus.Registerer, log *slog.Logger) updates.MailOptions {
	proxies, _ := prefixes(m.UpdatesProxies) // check has read them
	return updates.MailOptions{
		Proxies: proxies,
		Listen:  m.UpdatesListen, LMTP: m.UpdatesLMTP, Maildir: m.UpdatesMaildir, Trusted: m.UpdatesTrust, IndexNow: m.UpdatesIndexNow, WebSub: m.UpdatesWebSub, Registry: reg, Log: log,
	}
}
