package download

import (
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// state is the content of NAME.part.json about NAME.part. Bytes beyond Written may not be safe.
type state struct {
	URL   string `json:"url"`             // requested
	Final string `json:"final,omitempty"` // source of the bytes, after redirects
	// strong, as If-Range requires; "" means that the rest cannot be requested
	Validator string `json:"validator"`
	Length    int64  `json:"length"`  // of the whole file; -1: not known yet
	Written   int64  `json:"written"` // bytes that are safe on disk
	SHA256    string `json:"sha256"`  // of those
	Done      bool   `json:"done"`    // those are the whole file

	// with Done: the file's entry for datapackage.json
	Resource *resource `json:"resource,omitempty"`

	Encoding string `json:"encoding,omitempty"` // content codings of the bytes
	Type     string `json:"type,omitempty"`     // Content-Type of the answer
}

// How often the state of a piece is saved; bytes after that may be lost in a crash.
const (
	saveBytes = 4 << 20
	saveEvery = time.Second
)

// part is a file that is not complete. Only one goroutine may use it.
type part struct {
	dir, name string   // the name is "" before the file begins to arrive
	f         *os.File // nil before that
	st        state
	n         int64 // bytes written
	sum       hash.Hash
	announced []announced // other announced digests
	saved     time.Time
}

// newPart returns the part of a file that has no name yet. Nothing of it is in the directory.
func newPart(dir, url string, about *crawl.DatasetFile) *part {
	p := &part{dir: dir, sum: sha256.New(), announced: announcedBy(about), saved: time.Now()}
	p.st = state{URL: url, Length: -1, SHA256: p.digest()}
	return p
}

// create gives a part its name. The state is written before the part, so that a part without a
// state does not belong to us, and the name is kept if the process ends now.
func (p *part) create(name string) (err error) {
	p.name = name
	if err := p.saveState(); err != nil {
		return err
	}
	p.f, err = openRegular(p.dir, name+partSuffix, os.O_RDWR, true)
	return err
}

// openPart continues with the existing part of a file, up to the bytes that its state confirms, or
// starts again.
func openPart(dir, name, url string, about *crawl.DatasetFile) (*part, error) {
	st, err := readState(dir, name)
	if err != nil {
		return nil, err
	}
	p := newPart(dir, url, about)
	if st.URL != url {
		return p, p.create(name)
	}
	p.name = name
	if p.f, err = openRegular(dir, name+partSuffix, os.O_RDWR, true); err != nil {
		return nil, err
	}
	if st.Validator != "" || st.Written == st.Length {
		n, err := io.CopyN(writerFunc(p.count), p.f, st.Written)
		if err != nil && err != io.EOF {
			p.f.Close()
			return nil, err
		}
		if n == st.Written && p.digest() == st.SHA256 {
			p.st, p.n = st, n
			return p, p.cut()
		}
	}
	if err := p.begin(state{URL: url, Length: -1}); err != nil {
		p.f.Close()
		return nil, err
	}
	return p, nil
}

// announced is a digest that a document announces for a file, and that of the bytes so far.
type announced struct {
	algorithm, digest string
	sum               hash.Hash
}

// announcedBy returns the announced digests except SHA-256, which is computed for all files. A
// digest with the wrong length is not compared.
func announcedBy(f *crawl.DatasetFile) (all []announced) {
	for _, d := range []struct {
		algorithm, digest string
		begin             func() hash.Hash
	}{{"SHA-512", f.SHA512, sha512.New}, {"SHA-1", f.SHA1, sha1.New}, {"MD5", f.MD5, md5.New}} {
		if sum := d.begin(); len(d.digest) == hex.EncodedLen(sum.Size()) {
			all = append(all, announced{d.algorithm, d.digest, sum})
		}
	}
	return all
}

// count adds bytes of the file to its digests.
func (p *part) count(b []byte) (int, error) {
	for _, d := range p.announced {
		d.sum.Write(b)
	}
	return p.sum.Write(b)
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// readState returns the state of an incomplete file, or the zero state if no state can be read.
func readState(dir, name string) (st state, err error) {
	f, err := openRegular(dir, name+stateSuffix, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return st, err
	}
	if json.Unmarshal(b, &st) != nil || st.Written < 0 || st.Length < -1 || st.Length >= 0 && st.Written > st.Length {
		return state{}, nil
	}
	return st, nil
}

// cut removes the bytes that do not count.
func (p *part) cut() error {
	if p.f == nil {
		return nil
	}
	if err := p.f.Truncate(p.n); err != nil {
		return err
	}
	_, err := p.f.Seek(p.n, io.SeekStart)
	return err
}

// begin starts the file again. NAME.part.json may still describe another copy. This is harmless,
// because its digest differs from that of these bytes.
func (p *part) begin(st state) error {
	p.sum.Reset()
	for _, d := range p.announced {
		d.sum.Reset()
	}
	p.n = 0
	st.Written, st.SHA256 = 0, p.digest()
	p.st = st
	return p.cut()
}

// Write appends bytes, and saves the state from time to time.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.f.Write(b)
	p.count(b[:n])
	p.n += int64(n)
	if err == nil && (p.n-p.st.Written >= saveBytes || time.Since(p.saved) >= saveEvery) {
		err = p.save()
	}
	return n, err
}

// save writes the bytes to the disk, and then the state that confirms them.
func (p *part) save() error {
	if err := p.f.Sync(); err != nil {
		return err
	}
	p.st.Written, p.st.SHA256 = p.n, p.digest()
	return p.saveState()
}

func (p *part) saveState() error {
	p.saved = time.Now()
	return replace(p.dir, p.name+stateSuffix, func(w io.Writer) error { return json.NewEncoder(w).Encode(p.st) })
}

func (p *part) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// errTaken means that another file has appeared under the name that a file was to get.
var errTaken = errors.New("its name is already used by a file that did not exist before")

// finish gives the file its name. The package comment describes what a crash leaves.
func (p *part) finish(r *resource) error {
	p.st.Length, p.st.Done, p.st.Resource = p.n, true, r
	if err := p.save(); err != nil {
		return err
	}
	if err := p.f.Close(); err != nil {
		return err
	}
	return nameIt(p.dir, p.name)
}

// nameIt renames a complete part.
func nameIt(dir, name string) error {
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", to, cmp.Or(err, errTaken))
	}
	if err := os.Rename(filepath.Join(dir, name+partSuffix), to); err != nil {
		return err
	}
	return syncDir(dir)
}

// quarantine keeps a file with a wrong digest under another name.
func (p *part) quarantine() (name string, err error) {
	name = p.name + mismatchSuffix
	if err := errors.Join(p.f.Sync(), p.f.Close()); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(p.dir, p.name+partSuffix), filepath.Join(p.dir, name)); err != nil {
		return "", err
	}
	return name, errors.Join(dropState(p.dir, p.name), syncDir(p.dir))
}

// dropState removes the state of a file that is listed or not needed.
func dropState(dir, name string) error {
	return removed(os.Remove(filepath.Join(dir, name+stateSuffix)))
}

// close keeps the part for the next time. An empty part is removed.
func (p *part) close() error {
	if p.f == nil {
		return nil
	}
	if p.n == 0 {
		return errors.Join(p.f.Close(), removed(os.Remove(filepath.Join(p.dir, p.name+partSuffix))), dropState(p.dir, p.name))
	}
	return errors.Join(p.save(), p.f.Close())
}
