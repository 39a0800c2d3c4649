package agenthost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/mobile"
)

// maxModules is how many modules are kept. The ones that were not used for longest are deleted.
const maxModules = 16

// modules are the modules of robots, in files that are named by their digests, so that a sender
// need not send one again. They may be used concurrently.
type modules struct {
	dir string
	mu  sync.Mutex // guards the set of files, not their contents
}

// errDigest means that a module is another one than its ticket names.
var errDigest = errors.New("the module has another digest than the ticket names")

// errNoModule means that the host does not have a module that was not sent.
var errNoModule = errors.New("the module is not here")

func openModules(dir string) (*modules, error) {
	m := &modules{dir: filepath.Join(dir, "modules")}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, err
	}
	half, err := filepath.Glob(filepath.Join(m.dir, "incoming-*"))
	for _, name := range half { // of a process that was killed
		err = errors.Join(err, os.Remove(name))
	}
	return m, err
}

// take opens a module. If body has octets, they are the module, and are kept. The error is
// errNoModule, errDigest, one of body, or a failure.
func (m *modules) take(digest string, body io.Reader) (*os.File, error) {
	f, err := os.CreateTemp(m.dir, "incoming-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, hash), io.LimitReader(body, mobile.MaxModule+1))
	name := filepath.Join(m.dir, digest+".wasm")
	switch {
	case err != nil:
		return nil, err
	case n > mobile.MaxModule:
		return nil, fmt.Errorf("%w: the module has more than %d octets", mobile.ErrDispatch, mobile.MaxModule)
	case n > 0 && hex.EncodeToString(hash.Sum(nil)) != digest:
		return nil, errDigest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 {
		if err := errors.Join(f.Sync(), os.Rename(f.Name(), name)); err != nil {
			return nil, err
		}
	}
	file, err := disk.OpenRegular(name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoModule
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := errors.Join(os.Chtimes(name, now, now), m.forget()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// forget deletes the modules that were not used for longest. A run that uses one has it open.
func (m *modules) forget() error {
	list, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	type module struct {
		name string
		used time.Time
	}
	var all []module
	for _, e := range list {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".wasm" {
			all = append(all, module{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b module) int { return b.used.Compare(a.used) })
	for _, old := range all[min(len(all), maxModules):] {
		err = errors.Join(err, os.Remove(filepath.Join(m.dir, old.name)))
	}
	return err
}
