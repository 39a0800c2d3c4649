package robot

// Host is what a robot can ask for: the functions that a host of mobile robots has for its robots.
// A result below 0 is an error; docs/mobile-robots.md lists them.
type Host interface {
	Input(offset int, buf []byte) int
	List(after, buf []byte) int
	Open(path []byte) int
	Head(buf []byte) int
	Read(buf []byte) int
	Emit(record []byte) int
	Log(line []byte)
}

// maxRead is how many octets of a document a host returns at once.
const maxRead = 64 << 10

// maxInput is the longest input of any robot.
const maxInput = 16 << 20

// readInput reads the whole input. It is in memory twice for a moment, and not more often.
func readInput(h Host) []byte {
	var pieces [][]byte
	size := 0
	for size <= maxInput {
		piece := make([]byte, 1<<20)
		n := h.Input(size, piece)
		if n <= 0 {
			break
		}
		pieces = append(pieces, piece[:n])
		size += n
	}
	all := make([]byte, 0, size)
	for _, p := range pieces {
		all = append(all, p...)
	}
	return all
}
