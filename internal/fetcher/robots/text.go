package robots

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// rules returns the rules of a robots.txt: from the cache, from its text, or from the text that the
// owner of the visit's shard stores. It returns nil if no text is available.
func (s *Sites) rules(r *crawl.Robots) *ruleset {
	agent := s.Requests.Config.Spec().Agent
	key := rulesKey{string(r.Digest), r.Origin, agent}
	if len(r.Digest) > 0 {
		if rules := s.Cache.get(key); rules != nil {
			return rules
		}
	}
	body, err := s.text(r)
	if err != nil {
		s.Requests.Log.Debug("robots.txt is not available; requesting it from its origin", "origin", r.Origin.String(), "err", err)
		return nil
	}
	rules := newRuleset(robots.Parse(body), agent, r.Origin)
	if len(r.Digest) > 0 {
		s.Cache.put(key, rules, rules.size(len(body)))
	}
	return rules
}

// text returns the text of a robots.txt, from the fact or by its digest from the owner of the
// shard.
func (s *Sites) text(r *crawl.Robots) ([]byte, error) {
	switch sum := sha256.Sum256(r.Body); {
	case len(r.Digest) == 0 && len(r.Body) == 0:
		return nil, errors.New("the text is missing") // an empty text has a digest, too
	case len(r.Digest) == 0 || bytes.Equal(r.Digest, sum[:]):
		return r.Body, nil
	}
	return s.Text(s.Requests.Session.Waiting, r.Digest)
}

// cutBody cuts a body at the size limit, before the line that crosses it. Otherwise whoever parses
// it later would take half a line for a whole one.
func cutBody(b []byte) []byte {
	if len(b) <= robots.MaxBytes {
		return b
	}
	marked := bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE"))
	// Without a zero byte the mark is wrong, and Parse reads the text as UTF-8.
	if marked && bytes.IndexByte(b[:robots.MaxBytes], 0) >= 0 {
		// The low byte of a character is its second in big endian (FE FF), and else its first.
		low := int(b[0] & 1)
		for i := robots.MaxBytes - 2; i > 0; i -= 2 {
			if c := b[i+1-low]; b[i+low] == 0 && (c == '\n' || c == '\r') {
				return b[:i+2]
			}
		}
		return nil
	}
	crosses := b[robots.MaxBytes] != '\n' && b[robots.MaxBytes] != '\r'
	b = b[:robots.MaxBytes]
	if crosses {
		b = b[:bytes.LastIndexAny(b, "\n\r")+1]
	}
	return b
}
