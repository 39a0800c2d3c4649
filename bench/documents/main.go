// Command documents compares the text that internal/document/pdf reads from PDF files with that of
// poppler's pdftotext and of ledongthuc/pdf: how many of pdftotext's words each has, how many of
// its own words pdftotext has, and what it costs. The files are those of Debian's documentation
// packages (list.txt names them); each program reads each file in a separate process, which may not
// take longer than -limit.
//
//	apt-get install poppler-utils
//	cd bench && go run ./documents -fetch /tmp/pdf    # apt-get download, dpkg -x
//	cd bench && go run ./documents /tmp/pdf
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	peer "github.com/ledongthuc/pdf"

	"github.com/curtsy/curtsy/internal/document/pdf"
)

//go:embed list.txt
var list string

var readers = []string{"pdftotext", "curtsy", "ledongthuc"}

func main() {
	log.SetFlags(0)
	one := flag.String("one", "", "read one file as this `reader` and print its text")
	fetch := flag.Bool("fetch", false, "put the files of the packages in list.txt into the folder")
	limit := flag.Duration("limit", time.Minute, "for one file")
	worst := flag.Int("worst", 0, "print the `N` files of which we read least")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: documents [-fetch] [-worst N] FOLDER")
	}
	var err error
	switch {
	case *one != "":
		err = read(*one, flag.Arg(0))
	case *fetch:
		err = download(flag.Arg(0))
	default:
		err = compare(flag.Arg(0), *limit, *worst)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// read prints the text of a file.
func read(reader, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if reader == "curtsy" {
		t, err := pdf.Read(b, pdf.Limits{})
		for _, p := range t.Paragraphs {
			fmt.Println(p.Text)
		}
		return err
	}
	r, err := peer.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	text, err := r.GetPlainText()
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, text)
	return err
}

// outcome is the text that one reader found in one file.
type outcome struct {
	words map[string]int
	total int
	cpu   time.Duration
	fail  string
}

func run(reader, file string, limit time.Duration) (o outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-one", reader, file)
	if reader == "pdftotext" {
		cmd = exec.CommandContext(ctx, "pdftotext", "-enc", "UTF-8", file, "-")
	}
	out, err := cmd.Output()
	if cmd.ProcessState != nil {
		o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch {
	case ctx.Err() != nil:
		o.fail = "too slow"
	case err != nil:
		o.fail = err.Error()
	}
	o.words = map[string]int{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(string(out)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		o.words[w]++
		o.total++
	}
	return o
}

// shared returns how many words two outcomes have in common.
func shared(a, b outcome) (n int) {
	for w, k := range a.words {
		n += min(k, b.words[w])
	}
	return n
}

// sums are the sums of one reader over all files.
type sums struct {
	recall, precision []float64
	common, ref, own  int
	cpu               time.Duration
	failed            int
	lost              []string // by recall
}

func compare(folder string, limit time.Duration, worst int) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.pdf"))
	if err != nil {
		return err
	}
	var all [3]sums
	counted, bytesRead, empty := 0, int64(0), 0
	for _, file := range files {
		ref := run(readers[0], file, limit)
		if ref.fail != "" {
			continue // no PDF, or one for which there is nothing to compare with
		}
		if ref.total < 20 {
			empty++ // pictures
			continue
		}
		if st, err := os.Stat(file); err == nil {
			bytesRead += st.Size()
		}
		counted++
		for i, reader := range readers {
			o := ref
			if i > 0 {
				o = run(reader, file, limit)
			}
			s := &all[i]
			n := shared(ref, o)
			r := float64(n) / float64(ref.total)
			s.recall = append(s.recall, r)
			if o.total > 0 {
				s.precision = append(s.precision, float64(n)/float64(o.total))
			}
			s.common, s.ref, s.own = s.common+n, s.ref+ref.total, s.own+o.total
			s.cpu += o.cpu
			if o.fail != "" {
				s.failed++
			}
			s.lost = append(s.lost, fmt.Sprintf("%.3f %s %s", r, filepath.Base(file), o.fail))
		}
	}
	fmt.Printf("%d files, %.0f MiB, %d words by pdftotext; %d more have fewer than 20 words and are not counted\n\n", counted, float64(bytesRead)/(1<<20), all[0].ref, empty)
	fmt.Println("| reader | failed | recall, of all words | mean of files | median | files under 0.9 | precision, of all words | CPU a file | of pdftotext's |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
	for i, reader := range readers {
		s := &all[i]
		slices.Sort(s.recall)
		low, _ := slices.BinarySearch(s.recall, 0.9)
		mean := 0.0
		for _, r := range s.recall {
			mean += r / float64(max(1, len(s.recall)))
		}
		fmt.Printf("| %s | %d | %.3f | %.3f | %.3f | %d | %.3f | %.0f ms | %.2f |\n", reader, s.failed, float64(s.common)/float64(s.ref), mean,
			s.recall[len(s.recall)/2], low, float64(s.common)/float64(max(1, s.own)), s.cpu.Seconds()*1000/float64(counted), s.cpu.Seconds()/all[0].cpu.Seconds())
	}
	slices.Sort(all[1].lost)
	for _, l := range all[1].lost[:min(worst, len(all[1].lost))] {
		fmt.Println(l)
	}
	return nil
}

// download fetches the packages with apt, and takes the first PDF files of each.
func download(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, p := range strings.Fields(list) {
		tmp, err := os.MkdirTemp("", "documents")
		if err != nil {
			return err
		}
		script := `apt-get -q download "$1" >/dev/null 2>&1 && dpkg -x *.deb x && n=0 && find x -name '*.pdf' -o -name '*.pdf.gz' | sort | head -$3 | while read f; do
			n=$((n+1)); case $f in *.gz) zcat "$f";; *) cat "$f";; esac > "$2/$1-$n.pdf"; done`
		most := "4"
		if p == "debian-refcard" {
			most = "16" // one for each language
		}
		dir, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		cmd := exec.Command("sh", "-c", script, "sh", p, dir, most)
		if cmd.Dir = tmp; cmd.Run() != nil {
			log.Printf("%s: not to be had", p)
		}
		if err := os.RemoveAll(tmp); err != nil {
			return err
		}
	}
	return nil
}
