package queue

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// delivery is the server's information about a delivered message, from the reply subject of the
// message:
//
//	$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<time>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.…, as above, perhaps with .<token> at the end
type delivery struct {
	deliveries  int
	seq         uint64 // in the stream
	consumerSeq uint64 // counts deliveries of this consumer
	time        time.Time
}

func parseDelivery(m *nats.Msg) (d delivery, err error) {
	s, ok := strings.CutPrefix(m.Reply, "$JS.ACK.")
	if !ok {
		return d, fmt.Errorf("message on %s did not come from a stream", m.Subject)
	}
	skip := 2
	if strings.Count(s, ".") > 6 {
		skip = 4
	}
	for range skip {
		_, s, _ = strings.Cut(s, ".")
	}
	var v [4]uint64
	for i := range v {
		var token string
		token, s, _ = strings.Cut(s, ".")
		if v[i], err = strconv.ParseUint(token, 10, 64); err != nil {
			return d, fmt.Errorf("reply subject %q: %w", m.Reply, err)
		}
	}
	return delivery{int(v[0]), v[1], v[2], time.Unix(0, int64(v[3]))}, nil
}
