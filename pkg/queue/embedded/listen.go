package embedded

import (
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// splitListen parses Options.Listen. Port 0 becomes the server's value for any free port.
func splitListen(listen string) (host string, port int, err error) {
	if listen == "" {
		return "", 0, nil
	}
	host, p, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		return "", 0, fmt.Errorf("embedded NATS: listen address %q: use host:port, for example 127.0.0.1:4222", listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}
