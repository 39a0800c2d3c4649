package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// An answer is what a rival's server sends: as much as Curtsy's search page needs.
type answer struct {
	Hits   []answered     `json:"hits"`
	Total  int            `json:"total"`
	Facets map[string]int `json:"facets"` // hits by host
}

type answered struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Snippet string `json:"snippet"` // HTML, with the query's words marked
}

// A rival is a search library that a team might build on instead.
type rival struct {
	index func(ctx context.Context, dir string, pages []page) error
	open  func(dir string) (func(ctx context.Context, words string) (answer, error), error)
}

var rivals = map[string]rival{
	"bleve":  {indexBleve, openBleve},
	"sqlite": {indexSQLite, openSQLite},
}

// serveRival serves a rival's index as JSON, and prints the address first.
func serveRival(ctx context.Context, name, dir string, w io.Writer) error {
	r, ok := rivals[name]
	if !ok {
		return fmt.Errorf("-rival: there is no %q; use bleve or sqlite", name)
	}
	ask, err := r.open(dir)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "search: http://%s/\n", l.Addr())
	context.AfterFunc(ctx, func() { l.Close() })
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := ask(r.Context(), r.FormValue("q"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // a client that went away needs no answer
	}))
}
