// Yardstick does the same piece of work again and again, with a pause in between, and writes a line
// for each time: the milliseconds of processor time that it took. Where other programs share a
// core, its caches or its memory, the same work takes up to twice as long. So .ci/run runs this
// beside the tests and judges their processor time by it. It runs until it is killed.
//
//	go run .ci/yardstick.go        # for the figure in .ci/budgets: with a test or two beside it
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	runtime.GOMAXPROCS(1) // so that the collector does not use what happens to be idle
	work()                // the first time is slower: its memory is new
	for {
		from := used()
		work()
		fmt.Println((used() - from).Milliseconds())
		time.Sleep(3 * time.Second)
	}
}

// used is the processor time of this process so far, user and system.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(1)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

type page struct {
	URL   string            `json:"url"`
	Links []string          `json:"links"`
	Terms map[string]int    `json:"terms"`
	Head  map[string]string `json:"head"`
}

// work is a mixture of what the tests do: allocate, hash, sort, encode, decode and compress.
func work() {
	var written bytes.Buffer
	compress, err := flate.NewWriter(&written, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	seen := map[string]*page{}
	for i := range 1500 {
		p := &page{URL: "https://host" + strconv.Itoa(i%50) + ".example/" + strconv.Itoa(i), Terms: map[string]int{}, Head: map[string]string{}}
		sum := sha256.Sum256([]byte(p.URL))
		for j := range 40 {
			n := int(sum[j%32])*(j+1) + i
			p.Links = append(p.Links, "https://host"+strconv.Itoa(n%50)+".example/"+strconv.Itoa(n))
			p.Terms["term"+strconv.Itoa(n%1000)]++
		}
		p.Head["ETag"] = fmt.Sprintf("%x", sum)
		slices.Sort(p.Links)
		encoded, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		if _, err := compress.Write(encoded); err != nil {
			panic(err)
		}
		q := new(page)
		if err := json.Unmarshal(encoded, q); err != nil {
			panic(err)
		}
		seen[q.URL] = q
	}
}
