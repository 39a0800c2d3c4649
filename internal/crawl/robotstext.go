package crawl

// RobotsText is the stored copy of an origin's robots.txt, the source of the rules for the origin.
type RobotsText struct {
	Origin string `json:"origin"`
	Text   string `json:"text"` // its beginning, at most MaxRobotsText bytes
	Size   int    `json:"size"` // of the whole copy, in bytes
}

// MaxRobotsText limits RobotsText.Text, in bytes.
const MaxRobotsText = 64 << 10
