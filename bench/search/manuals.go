package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// A manual is a directory of pages that a Debian package installs, served under a name of its own.
type manual struct {
	name    string // of its query file and its host
	pkg     string
	dir     string
	stemmer string // what Xapian is told; Curtsy finds the language out
}

var manuals = []manual{
	{"postgresql", "postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html", "english"},
	{"python", "python3-doc", "/usr/share/doc/python3.11/html", "english"},
	{"cppreference", "cppreference-doc-en-html", "/usr/share/cppreference/doc/html/en", "english"},
	{"gimp-de", "gimp-help-de", "/usr/share/gimp/2.0/help/de", "german"},
	{"debian-handbook-fr", "debian-handbook", "/usr/share/doc/debian-handbook/html/fr-FR", "french"},
}

func (m manual) host() string { return m.name + ".manual.test" }

// installed returns an error that says what to install when a manual is missing.
func installed(ms []manual) error {
	var missing []string
	for _, m := range ms {
		if _, err := os.Stat(m.dir); err != nil {
			missing = append(missing, m.pkg)
		}
	}
	if missing != nil {
		return fmt.Errorf("manuals are missing; install them: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return nil
}

// serve answers for every manual's host at one loopback address, until close is called.
func serve(ms []manual) (addr string, closeWeb func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	for _, m := range ms {
		mux.Handle(m.host()+"/", http.FileServer(http.Dir(m.dir)))
	}
	srv := &http.Server{Handler: mux}
	go srv.Serve(l) //nolint:errcheck // it ends with Close
	return l.Addr().String(), srv.Close, nil
}

// chosen returns the manuals named in a list with commas, or all for an empty list.
func chosen(list string) ([]manual, error) {
	if list == "" {
		return manuals, nil
	}
	var ms []manual
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(manuals, func(m manual) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-manuals: there is no %q", name)
		}
		ms = append(ms, manuals[i])
	}
	return ms, nil
}
