package updates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/indexnow"
)

// IndexNowPath is the path that accepts submissions.
const IndexNowPath = "/indexnow"

// The limits of the endpoint, which anyone may use. An accepted submission is appended to the log
// of a shard, so its bytes are limited as well as the number of requests. Whoever sends has an
// eighth of these bytes, and a site a quarter: anyone can send in the name of a site, and must
// leave half for the site itself. A peer is a block of addresses.
const (
	peerRate, peerBurst = 1, 20 // submissions a second of a peer
	allRate, allBurst   = 20, 100
	byteRate, byteBurst = 16 << 10, 8 << 20 // bytes of URLs a second, of all together
	sitePart            = 4                 // of them for one domain
	peerPart            = 8                 // of them for one block
	maxPeers            = 10_000            // parties counted separately
	partBytes           = 64 << 10          // bytes of URLs in one message, approximately
	largeBody           = 256 << 10         // bytes from which on a body counts as large
	maxLarge            = 2 * maxPerPeer    // in memory at a time
	largePerPeer        = maxLarge / 4      // of one block of addresses
	maxReading          = 2                 // parsed at a time; that takes several times their size
)

// IndexNow receives submissions (indexnow.org). It parses them, limits them, and sends them to the
// shard of their site, which accepts them after the site has shown the key. It may be called
// concurrently.
type IndexNow struct {
	shards int
	append func(ctx context.Context, shard int, event []byte) error
	log    *slog.Logger
	taken  *prometheus.CounterVec

	all, size *rate.Limiter              // of requests, and of the bytes of their URLs
	peers     *fair.Rates[fair.Party]    // of requests, by block
	bytes     [2]*fair.Rates[fair.Party] // of bytes, by domain and by block
	large     *fair.Queue                // a unit for each large body in memory
	reading   *fair.Queue                // a unit for each body that is being parsed
	proxies   []netip.Prefix             // whose X-Forwarded-For counts
}

// NewIndexNow returns the handler for a crawl with a number of shards. append is as in Options; reg
// may be nil.
func NewIndexNow(shards int, append func(ctx context.Context, shard int, event []byte) error, reg prometheus.Registerer, log *slog.Logger) (*IndexNow, error) {
	x := &IndexNow{
		shards: shards, append: append, log: log, all: rate.NewLimiter(allRate, allBurst), size: rate.NewLimiter(byteRate, byteBurst),
		peers: fair.NewRates[fair.Party](peerRate, peerBurst, maxPeers),
		bytes: [2]*fair.Rates[fair.Party]{
			fair.NewRates[fair.Party](byteRate/sitePart, byteBurst/sitePart, maxPeers),
			fair.NewRates[fair.Party](byteRate/peerPart, byteBurst/peerPart, maxPeers),
		},
		large:   fair.NewQueue(fair.Options{Capacity: maxLarge, Share: largePerPeer, Most: largePerPeer}),
		reading: fair.NewQueue(fair.Options{Capacity: maxReading}),
		taken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "curtsy_updates_indexnow_total", Help: "IndexNow submissions by outcome.",
		}, []string{"outcome"}),
	}
	if reg != nil {
		if err := reg.Register(x.taken); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// ServeHTTP answers 202 to a submission that was received. Whether it is accepted is not known yet.
func (x *IndexNow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, why := x.serve(w, r)
	x.taken.WithLabelValues(strconv.Itoa(status)).Inc()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "60")
	}
	w.WriteHeader(status)
	// An error does not matter: the peer is gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"message": why})
}

func (x *IndexNow) serve(w http.ResponseWriter, r *http.Request) (status int, why string) {
	if r.URL.Path != IndexNowPath {
		return http.StatusNotFound, "submissions are accepted at " + IndexNowPath
	}
	who := senderOf(x.proxies, r)
	if !who.IsZero() && !x.peers.Allow(time.Now(), who, 1) || !x.all.Allow() {
		return http.StatusTooManyRequests, "too many submissions; send many URLs in one submission"
	}
	var s indexnow.Submission
	var err error
	switch r.Method {
	case http.MethodGet:
		s, err = indexnow.ParseQuery(r.URL.Query())
	case http.MethodPost:
		if kind, _, bad := mime.ParseMediaType(r.Header.Get("Content-Type")); bad != nil || kind != "application/json" {
			return http.StatusUnsupportedMediaType, "send application/json"
		}
		from := http.MaxBytesReader(w, r.Body, indexnow.MaxBody)
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(from, largeBody)); err == nil && len(body) == largeBody {
			large, ok := x.large.Try(1, who)
			if !ok {
				return http.StatusTooManyRequests, "too many large submissions at the same time"
			}
			defer large.Release(0)
			if body, err = io.ReadAll(io.MultiReader(bytes.NewReader(body), from)); err == nil {
				reading, err := x.reading.Acquire(r.Context(), 1, who)
				if err != nil {
					return http.StatusServiceUnavailable, "the submission cannot be accepted now"
				}
				began := time.Now()
				defer func() { reading.Release(time.Since(began).Seconds()) }()
			}
		}
		if err != nil {
			return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body cannot be read or is larger than %d MiB", indexnow.MaxBody>>20)
		}
		s, err = indexnow.ParseJSON(body)
	default:
		return http.StatusMethodNotAllowed, "use GET or POST"
	}
	switch {
	case errors.Is(err, indexnow.ErrNotItsOwn):
		return http.StatusUnprocessableEntity, err.Error()
	case err != nil:
		return http.StatusBadRequest, err.Error()
	}
	size := 0
	for _, u := range s.URLs {
		size += len(u)
	}
	if !x.room(size, who, fair.DomainOf(s.Origin.Host)) {
		return http.StatusTooManyRequests, "there are too many submissions at the moment"
	}
	if err := x.take(r.Context(), &s); err != nil {
		x.log.Error("a submission cannot be accepted now", "site", s.Origin.String(), "err", err)
		return http.StatusServiceUnavailable, "the submission cannot be accepted now"
	}
	return http.StatusAccepted, "accepted; it becomes valid when the key is found at " + string(s.KeyURL)
}

// room reports whether so many bytes of URLs may be appended for a site and on behalf of a sender,
// and counts them. The limit applies to the URLs, whose canonical form may be longer than the body.
// More than the largest burst would never be allowed, so it counts as that.
func (x *IndexNow) room(size int, who, site fair.Party) bool {
	now := time.Now()
	if !x.bytes[0].May(now, site, size) || !who.IsZero() && !x.bytes[1].May(now, who, size) || !x.size.AllowN(now, min(size, byteBurst)) {
		return false
	}
	x.bytes[0].Allow(now, site, size)
	if !who.IsZero() {
		x.bytes[1].Allow(now, who, size)
	}
	return true
}

// senderOf is the party that sent a request. It is nobody if that is a proxy of ours that does not
// name its client: then only the limits of all together, and of sites, apply.
func senderOf(proxies []netip.Prefix, r *http.Request) fair.Party {
	return strangerAt(fair.Client(proxies, r.RemoteAddr, r.Header.Values("X-Forwarded-For")))
}

// strangerAt is the party of an address, or nobody if the address is in our own network.
func strangerAt(a netip.Addr) fair.Party {
	if fair.Ours(a) {
		return fair.Party{}
	}
	return fair.BlockOf(a)
}

// take appends a submission to the log of its site's shard, in parts that fit into a message. If it
// fails in the middle, the first parts count, and the sender gets an error and sends the submission
// again.
func (x *IndexNow) take(ctx context.Context, s *indexnow.Submission) error {
	to, now := crawl.ShardOf(s.Origin.Host, x.shards), time.Now()
	for rest := s.URLs; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n]) <= partBytes) {
			size += len(rest[n])
			n++
		}
		ev := crawl.Event{Reported: []crawl.IndexNow{{Origin: s.Origin, Key: s.Key, KeyURL: s.KeyURL, URLs: rest[:n], Received: now}}}
		if err := x.append(ctx, to, crawl.AppendEvent(nil, &ev)); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// Serve accepts submissions at a listener until ctx ends.
func (x *IndexNow) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: x, ReadTimeout: time.Minute, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(x.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(limited(ln, nil, x.log)); ctx.Err() == nil {
		return err
	}
	return nil
}
