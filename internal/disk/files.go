package disk

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// OutOfFiles reports whether an error means that the process, or the machine, can open no more
// files. Connections count as files.
func OutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Explain adds to an error of having too many files open what to do about it, also if it comes from
// a NATS server, which sends only the text. It returns every other error as it is, nil included.
func Explain(err error) error {
	var done *outOfFiles
	if err == nil || errors.As(err, &done) {
		return err
	}
	switch text := err.Error(); {
	case strings.Contains(text, syscall.ENFILE.Error()):
		return &outOfFiles{err, "all processes of this machine together have too many files open: allow more (sysctl -w fs.file-max=1000000)"}
	case strings.Contains(text, syscall.EMFILE.Error()):
		return &outOfFiles{err, fmt.Sprintf("this process may open %d files and connections: start it with more (ulimit -n 65536, or LimitNOFILE=65536 in its systemd unit)", MaxFiles())}
	}
	return err
}

// outOfFiles is an error with what to do about it.
type outOfFiles struct {
	error
	remedy string
}

// Error returns the text of both.
func (e *outOfFiles) Error() string { return e.error.Error() + ": " + e.remedy }

// Unwrap returns the error itself.
func (e *outOfFiles) Unwrap() error { return e.error }

// defaultFiles is the limit where the system cannot be asked for it.
const defaultFiles = 1024
