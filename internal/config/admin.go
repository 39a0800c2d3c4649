package config

import (
	"net"
	"strconv"
)

// Admin is the port of a process for its operator.
type Admin struct {
	Listen string `key:"listen" group:"Output,common" usage:"serve the dashboard, /metrics, /livez, /readyz and /debug/pprof on ‹ADDR›, or off" example:"127.0.0.1:8080"`
}

func newAdmin() Admin { return Admin{Listen: "127.0.0.1:8080"} }

func (a Admin) check(src *Source) error {
	if a.Listen != "off" && !address(a.Listen) {
		return src.Refuse("listen", "is not an address with a port; use for example 127.0.0.1:8080, or off")
	}
	return nil
}

// address reports whether s is host:port. The host may be empty.
func address(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}
