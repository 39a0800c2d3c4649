package config

import "github.com/curtsy/curtsy/pkg/queue"

// Queue says how to connect to the server at URL as the process called name.
func (n NATS) Queue(name string) queue.Options {
	return queue.Options{
		URL: n.URL, Name: name, Replicas: n.Replicas,
		User: n.User, Password: string(n.Password), CredsFile: n.Creds, NKeyFile: n.NKey,
		CAFile: n.CA, CertFile: n.Cert, KeyFile: n.Key,
	}
}
