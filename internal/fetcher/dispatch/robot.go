package dispatch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"sync"

	"github.com/curtsy/curtsy/internal/mobile"
)

// Robot is what the fetchers of a process send: a module, and the key that servers know them by. It
// may be used concurrently.
type Robot struct {
	key    mobile.Signer
	module []byte
	digest string
	packed func() []byte // the module as a member of gzip
	places chan struct{}
}

// atOnce is how many dispatches a process carries out at the same time: each may use up to about
// 150 MB for its largest records and for what is known of its site.
const atOnce = 4

// NewRobot returns a robot with a module of WebAssembly, whose tickets are signed with key.
func NewRobot(key mobile.Signer, module []byte) (*Robot, error) {
	if len(module) == 0 || len(module) > mobile.MaxModule {
		return nil, fmt.Errorf("a mobile robot is a module of 1 to %d bytes, not of %d", mobile.MaxModule, len(module))
	}
	return &Robot{
		key: key, module: module, digest: mobile.Digest(module), places: make(chan struct{}, atOnce),
		packed: sync.OnceValue(func() []byte { return gzipped(module) }),
	}, nil
}

// gzipped returns octets as a member of gzip.
func gzipped(octets []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(octets) // a buffer accepts everything
	_ = z.Close()
	return b.Bytes()
}

// enter takes a place for a dispatch, if one is free. leave returns it.
func (r *Robot) enter() bool {
	select {
	case r.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r *Robot) leave() { <-r.places }
