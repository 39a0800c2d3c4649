package crawl

// RobotsText is the answer to the question "robots-text": the copy of an origin's robots.txt by
// which its rules are read.
type RobotsText struct {
	Origin string `json:"origin"`
	Text   string `json:"text"` // its beginning, at most MaxRobotsText bytes
	Size   int    `json:"size"` // of the copy, in bytes
}

// MaxRobotsText is how much of a robots.txt is sent to be shown, in bytes.
const MaxRobotsText = 64 << 10
