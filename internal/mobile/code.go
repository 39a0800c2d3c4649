package mobile

import "strconv"

// Code is what a function of the host returns to a robot instead of a number of octets. It is an
// error of the host's own functions too: then the robot receives it and runs on, whereas any other
// error ends the run.
type Code int32

// The codes. They are part of the interface to robots and never change.
const (
	BadArgument Code = -1 // a pointer or a length outside of the robot's memory, or too large
	SmallBuffer Code = -2 // the answer is longer than the buffer
	NotFound    Code = -3 // there is no such document
	Forbidden   Code = -4 // the path is outside of the subtree, or closed by robots.txt
	TooLarge    Code = -5 // the document is larger than the host's limit
	NotOpen     Code = -6 // no document is open
	AtLimit     Code = -7 // the run may do no more of this
	Unreadable  Code = -8 // the host could not read the document or the directory
)

// Error describes a code in a few words.
func (c Code) Error() string {
	switch c {
	case BadArgument:
		return "a bad argument"
	case SmallBuffer:
		return "the buffer is too small"
	case NotFound:
		return "no such document"
	case Forbidden:
		return "outside of the subtree, or closed by robots.txt"
	case TooLarge:
		return "the document is too large"
	case NotOpen:
		return "no document is open"
	case AtLimit:
		return "a limit of the run is reached"
	case Unreadable:
		return "the host cannot read it"
	}
	return "code " + strconv.Itoa(int(c))
}

// Names in the interface between host and robot.
const (
	// ContentType is the media type of the body of a DISPATCH.
	ContentType = "application/vnd.curtsy.robot"
	// ResultType is the media type of a stream of results, compressed with zstd.
	ResultType = "application/vnd.curtsy.robot-results+zstd"
	// Module is the name of the module from which a robot imports the functions of the host.
	Module = "curtsy"
)
