package intake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// maxPart is the size of the largest file: a message may begin just before partBytes.
const maxPart = partBytes + frameHead + MaxMessage + 1

// head is what a file begins with: a name and the format.
var head = []byte("curtsy intake 1\n")

// frameHead is the number of bytes before each message: its length and its CRC-32C.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of a message in the file with a number. The number belongs to it,
// because a file is used again: a message of its earlier life is none of this one.
func checksum(number uint64, msg []byte) uint32 {
	sum := crc32.Checksum(binary.LittleEndian.AppendUint64(nil, number), castagnoli)
	return crc32.Update(sum, castagnoli, msg)
}

// appendFrame appends a message as it is in the file with a number.
func appendFrame(b []byte, number uint64, msg []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(msg)))
	b = binary.LittleEndian.AppendUint32(b, checksum(number, msg))
	return append(b, msg...)
}

// readFrame reads the first message of b, which is from the file with a number. size is how many
// bytes of b it takes. It is 0 if b does not begin with a complete message of that file.
func readFrame(b []byte, number uint64) (msg []byte, size int) {
	if len(b) < frameHead {
		return nil, 0
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > MaxMessage || int64(n) > int64(len(b)-frameHead) {
		return nil, 0
	}
	msg = b[frameHead : frameHead+int(n)]
	if checksum(number, msg) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, 0
	}
	return msg, frameHead + int(n)
}

// part is one file of an intake.
type part struct {
	path   string
	number uint64
	f      *os.File
	size   int64     // where the next message is appended
	synced int64     // up to where it was synced
	since  time.Time // when the first message was appended that is not synced; zero: all are

	next      int64    // where the first message that was not taken begins
	sizes     []uint32 // of the messages that were not taken
	unsettled int      // messages that are not settled, whether they were taken or not
}

const prefix, suffix = "intake-", ".log"

func partPath(dir string, shard int, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d-%d%s", prefix, shard, number, suffix))
}

// sparePath is the name of a file that is used again. It has no number, so no start reads it.
func sparePath(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d-spare%s", prefix, shard, suffix))
}

// find returns the numbers of a shard's files, in order.
func find(dir string, shard int) (numbers []uint64, err error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	mine := fmt.Sprintf("%s%d-", prefix, shard)
	for _, e := range all {
		rest, ok := strings.CutPrefix(e.Name(), mine)
		number, ok2 := strings.CutSuffix(rest, suffix)
		n, err := strconv.ParseUint(number, 10, 64)
		if ok && ok2 && err == nil && strconv.FormatUint(n, 10) == number {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// newPart begins a file. If spare is not nil, it begins in that file: writing 34 KB over what is
// there takes the system 5.5 µs on ext4, and 26 in new space (m).
func newPart(path string, number uint64, spare *part) (*part, error) {
	p := &part{path: path, number: number, size: int64(len(head)), next: int64(len(head))}
	var err error
	if spare != nil {
		if err = os.Rename(spare.path, path); err != nil {
			return nil, errors.Join(err, spare.remove())
		}
		p.f = spare.f
		return p, nil
	}
	if p.f, err = disk.OpenRegular(path, os.O_CREATE|os.O_EXCL|os.O_RDWR); err != nil {
		return nil, err
	}
	if _, err := p.f.Write(head); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// setAside gives a file whose messages are settled another name, so that no later start reads it.
func (p *part) setAside(path string) error {
	err := os.Rename(p.path, path)
	if err == nil {
		p.path = path
	}
	return err
}

// errFormat means that another version of Curtsy wrote a file.
var errFormat = errors.New("another version of Curtsy wrote it: use that version once more, so that its pages are stored")

// openPart opens a file that an earlier process left.
func openPart(path string, number uint64) (*part, error) {
	f, err := disk.OpenRegular(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, number: number, f: f, size: int64(len(head)), next: int64(len(head))}
	if err := p.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return p, nil
}

// scan finds the messages of a file. What follows the last complete one is a message whose sender
// did not hear that it is safe, or is left from an earlier life of the file.
func (p *part) scan() error {
	all, err := io.ReadAll(io.LimitReader(p.f, maxPart))
	if err != nil {
		return err
	}
	if n := min(len(all), len(head)); n < len(head) && bytes.Equal(all[:n], head[:n]) {
		return nil // the process ended while it began the file
	} else if !bytes.Equal(all[:n], head) {
		return errFormat
	}
	for at := len(head); ; {
		_, size := readFrame(all[at:], p.number)
		if size == 0 {
			return nil
		}
		p.sizes = append(p.sizes, uint32(size-frameHead))
		p.unsettled++
		at += size
		p.size = int64(at)
	}
}

// append appends a message of n bytes in its frame. After an error the file is as before, or the
// message is incomplete and is overwritten by the next one.
func (p *part) append(frame []byte, n int) error {
	if _, err := p.f.WriteAt(frame, p.size); err != nil {
		_ = p.f.Truncate(p.size) // gives the space back; the size counts anyway
		return err
	}
	p.size += int64(len(frame))
	p.sizes = append(p.sizes, uint32(n))
	p.unsettled++
	if p.since.IsZero() {
		p.since = time.Now()
	}
	return nil
}

// errDamaged means that a message that was complete cannot be read any more.
var errDamaged = errors.New("a message in it has changed on the disk: move the file away and start the crawl again")

// take reads the next messages: at most n, and at most limit bytes, but always one.
func (p *part) take(n, limit int) (all [][]byte, err error) {
	size, count := 0, 0
	for count < min(n, len(p.sizes)) && (count == 0 || size+int(p.sizes[count]) <= limit) {
		size += int(p.sizes[count])
		count++
	}
	buf := make([]byte, size+count*frameHead)
	if _, err := p.f.ReadAt(buf, p.next); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	for range count {
		msg, size := readFrame(buf, p.number)
		if size == 0 {
			return nil, fmt.Errorf("%s: %w", p.path, errDamaged)
		}
		all = append(all, msg[:len(msg):len(msg)])
		buf = buf[size:]
		p.next += int64(size)
	}
	p.sizes = p.sizes[count:]
	return all, nil
}

// sync makes the file, with its name, survive a failure of the machine.
func (p *part) sync() error {
	if err := p.f.Sync(); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (p *part) remove() error { return errors.Join(p.f.Close(), os.Remove(p.path)) }
