package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// slowRobots: a domain that has many names keeps each visit as long as it can.
func slowRobots(ctx context.Context, r *Rig) (Row, error) {
	return slow(ctx, r, func(i int) string { return fmt.Sprintf("h%03d.slow.example", i) })
}

// slowAddress: many domains at one address do the same. A loopback address is what the kit has.
func slowAddress(ctx context.Context, r *Rig) (Row, error) {
	return slow(ctx, r, func(i int) string { return fmt.Sprintf("slow%03d.example", i) })
}

// slowNames is how many names an attacker has here: more than a crawl has slots.
const slowNames = 400

func slow(ctx context.Context, r *Rig, name func(i int) string) (Row, error) {
	c := Crawl{Args: []string{"--visits", "64"}, Evil: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-q.Context().Done():
		case <-time.After(29 * time.Second):
		}
		http.NotFound(w, q)
	})}
	for i := range slowNames {
		c.Hosts = append(c.Hosts, name(i))
	}
	res, err := c.Run(ctx, r)
	return res.Row(0.8), err
}
