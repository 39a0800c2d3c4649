package simweb

// Feature is a corner a site can have besides its numbered pages.
type Feature string

func (s *site) buildFeature(f Feature) {
	if s.mirror != nil {
		return
	}
	build, ok := featureBuilders[f]
	if !ok {
		panic("simweb: no feature " + string(f))
	}
	build(s)
}

var featureBuilders = map[Feature]func(*site){}

// DefaultMix is the variety Config.Mix stands for when nil.
func DefaultMix(host int) Behavior { return Behavior{Robots: RobotsAllowAll} }

// Trap tells whether a URL lies inside a spider trap: an endless space of pages, of which a crawler may see any number.
func (w *Web) Trap(rawURL string) bool { return false }

func (s *site) trapAt(string) *resource { return nil }

func (s *site) sitemapRobots() {}
