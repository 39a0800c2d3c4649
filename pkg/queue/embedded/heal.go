package embedded

import (
	"context"
	"strings"
	"syscall"
	"time"
)

// healFree is the free space at which a restart is worth trying.
const healFree = 64 * mib

// healEvery is the interval for checking whether there is free space again.
const healEvery = 2 * time.Second

// remedy says what is wrong, and what to do about it, after a message that isBroken recognises.
func remedy(what string) string {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE} {
		if strings.Contains(what, err.Error()) {
			return "too many files and connections are open, so nothing can be stored: start the process with a larger limit (ulimit -n 65536, or LimitNOFILE=65536 in its systemd unit); the store tries again every few seconds"
		}
	}
	return "the disk refuses writes, so nothing can be stored: free some space; the store then continues by itself"
}

// heal restarts the server once the disk has free space again after a stream could not be written.
// Until the restart that stream answers no request, not even with an error.
func (s *Server) heal(ctx context.Context) {
	for {
		var what string
		select {
		case <-ctx.Done():
			return
		case what = <-s.broken:
		}
		s.opts.Log.Error(remedy(what), "dir", s.opts.Dir)
		for logged := ""; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(healEvery):
			}
			if free, _, err := diskSpace(s.opts.Dir); err != nil || free < healFree {
				continue
			}
			err := s.Restart()
			if err == nil {
				s.opts.Log.Info("the store is open again", "dir", s.opts.Dir)
				break
			}
			if err.Error() != logged {
				logged = err.Error()
				s.opts.Log.Error("cannot open the store again; trying every few seconds", "err", err)
			}
		}
	}
}
