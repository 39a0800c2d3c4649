package simweb

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain can also run a server in a separate process, so that its CPU time can be measured
// separately from the client's.
func TestMain(m *testing.M) {
	mode := os.Getenv("SIMWEB_SERVE")
	if mode == "" {
		os.Exit(m.Run())
	}
	cfg := Bench(100, 1000, 4)
	if mode == "log" {
		cfg.LogLimit = 0
	}
	if mode == "nethttp" {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Println(ln.Addr())
		go http.Serve(ln, New(cfg))
		io.Copy(io.Discard, os.Stdin)
		return
	}
	srv, err := Start(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(srv.Addr())
	io.Copy(io.Discard, os.Stdin)
	srv.Close()
}

func BenchmarkRender(b *testing.B) {
	w := New(Bench(100, 1000, 4))
	s := w.sites[7]
	n := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf := getBuffer()
		s.renderPage(buf, i%1000)
		n += len(buf.b)
		putBuffer(buf)
	}
	b.ReportMetric(float64(n)/float64(b.N), "bytes/page")
}

// BenchmarkServerCPU measures the CPU time per page of the process that serves it, kernel time
// included.
func BenchmarkServerCPU(b *testing.B) {
	for _, mode := range []string{"nolog", "log", "nethttp"} {
		b.Run(mode, func(b *testing.B) { benchServer(b, mode) })
	}
}

func benchServer(b *testing.B, mode string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SIMWEB_SERVE="+mode)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	w := New(Bench(100, 1000, 4))
	before := cpu(cmd.Process.Pid)
	b.SetParallelism(8) // connections for each core
	var clients atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		if err := readPages(w, strings.TrimSpace(addr), int(clients.Add(1)), pb.Next); err != nil {
			b.Error(err)
		}
	})
	b.ReportMetric(float64((cpu(cmd.Process.Pid)-before).Microseconds())/float64(b.N), "server-µs/page")
	in.Close()
	cmd.Wait()
}

// cpu returns the user and system time of a process, from the kernel's account of all its threads
// in nanoseconds.
func cpu(pid int) time.Duration {
	var total time.Duration
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
		ns, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(ns, 10, 64)
		total += time.Duration(n)
	}
	return total
}

// readPages fetches pages of one host on one connection, with as little CPU time as possible.
func readPages(w *Web, addr string, host int, next func() bool) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	br := bufio.NewReaderSize(conn, 32<<10)
	s := w.sites[host%len(w.sites)]
	for i := 0; next(); i++ {
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nAccept-Encoding: gzip\r\n\r\n", s.path(i%1000), s.name, testAgent)
		length := 0
		for {
			line, err := br.ReadSlice('\n')
			if err != nil {
				return err
			}
			if v, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
				length, _ = strconv.Atoi(strings.TrimSpace(v))
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := br.Discard(length); err != nil {
			return err
		}
	}
	return nil
}
