package updates

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/websub"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// The limits of a delivery, and of all deliveries.
const (
	MaxDelivery        = 1 << 20 // bytes of a body
	MaxDeliveryEntries = 500     // of a feed in a delivery, the first this many count
	deliveryRate       = 5       // a second, of all hubs together
	deliveryBurst      = 100
	hubPart            = 2 // of these for the hubs at one block of addresses
	topicRate          = 1 // a second, of the topics of one registered domain
	topicBurst         = 30
	maxDomains         = 10_000 // domains of topics, and blocks, counted separately
	replayFor          = time.Hour
	maxReplays         = 10_000 // deliveries remembered; beyond that, all are forgotten
	askPatience        = 5 * time.Second
	leftPatience       = time.Second
)

// WebSub receives the deliveries of hubs, and answers their requests for confirmation. It
// recognises an address without a lookup. The shard of the topic decides whether a request or a
// delivery was expected. A WebSub may be called concurrently.
type WebSub struct {
	callbacks func() websub.Callbacks
	shards    int
	append    func(ctx context.Context, shard int, event []byte) error
	intends   func(ctx context.Context, q crawl.WebSubQuestion) (crawl.WebSubIntent, error)
	log       *slog.Logger
	taken     *prometheus.CounterVec
	all       *rate.Limiter
	domains   *fair.Rates[fair.Party] // by the registered domain of a topic
	hubs      *fair.Rates[fair.Party] // by the block of a hub
	proxies   []netip.Prefix          // whose X-Forwarded-For counts

	mu   sync.Mutex // guards seen
	seen map[[sha256.Size]byte]time.Time
}

// NewWebSub returns the handler for a crawl with a number of shards. append is as in Options;
// intends asks the shard of a topic; reg may be nil.
func NewWebSub(callbacks func() websub.Callbacks, shards int, append func(ctx context.Context, shard int, event []byte) error,
	intends func(ctx context.Context, q crawl.WebSubQuestion) (crawl.WebSubIntent, error), reg prometheus.Registerer, log *slog.Logger) (*WebSub, error) {
	x := &WebSub{callbacks: callbacks, shards: shards, append: append, intends: intends, log: log, all: rate.NewLimiter(deliveryRate, deliveryBurst),
		seen: map[[sha256.Size]byte]time.Time{}, domains: fair.NewRates[fair.Party](topicRate, topicBurst, maxDomains),
		hubs: fair.NewRates[fair.Party](rate.Limit(deliveryRate)/hubPart, deliveryBurst/hubPart, maxDomains), taken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "curtsy_updates_websub_total", Help: "Requests of WebSub hubs by outcome.",
		}, []string{"outcome"})}
	if reg != nil {
		if err := reg.Register(x.taken); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// reply is the answer to a hub.
type reply struct {
	status  int
	text    string
	outcome string // for the metric
}

// ServeHTTP answers a hub. No address is logged, because addresses are secret.
func (x *WebSub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := x.serve(w, r)
	x.taken.WithLabelValues(a.outcome).Inc()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "60")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.text) // an error does not matter: the peer is gone
}

func (x *WebSub) serve(w http.ResponseWriter, r *http.Request) reply {
	c := x.callbacks()
	topic, n, ok := c.Find(r.URL.Path)
	if !ok { // cheap, and without effect on the limits of real hubs
		return reply{http.StatusNotFound, "there is no subscription for this address\n", "unknown"}
	}
	hub, now := senderOf(x.proxies, r), time.Now()
	// strings.Clone, because a remembered domain must not keep the whole topic in memory.
	site := fair.Registered(strings.Clone(topic.Host().Registered()))
	if !hub.IsZero() && !x.hubs.May(now, hub, 1) || !x.domains.Allow(now, site, 1) || !x.all.Allow() || !hub.IsZero() && !x.hubs.Allow(now, hub, 1) {
		return reply{http.StatusTooManyRequests, "there are too many deliveries at the moment\n", "later"}
	}
	switch r.Method {
	case http.MethodGet:
		return x.asked(r, topic, n)
	case http.MethodPost:
		return x.delivered(w, r, topic, n, c.Key(topic, n))
	}
	return reply{http.StatusMethodNotAllowed, "use GET or POST\n", "refused"}
}

// asked answers a hub that asks for confirmation (WebSub §5.3). The answer is yes if we sent that
// request to it and have not confirmed it yet, and no otherwise.
func (x *WebSub) asked(r *http.Request, topic canon.URL, n int) reply {
	i, err := websub.ParseIntent(r.URL.Query())
	if err != nil {
		return reply{http.StatusBadRequest, err.Error() + "\n", "refused"}
	}
	if u, err := canon.Parse(i.Topic); err != nil || u != topic {
		return reply{http.StatusNotFound, "this topic was not requested\n", "refused"}
	}
	if i.Mode != websub.Denied {
		asked, err := x.intends(r.Context(), crawl.WebSubQuestion{Topic: string(topic), N: n, Mode: i.Mode})
		switch {
		case err != nil:
			x.log.Warn("a hub cannot be answered now", "topic", topic, "err", err)
			return reply{http.StatusServiceUnavailable, "it is not known now whether this is requested\n", "later"}
		case !asked.Wanted:
			return reply{http.StatusNotFound, "this was not requested\n", "refused"}
		}
	}
	ws := crawl.WebSub{Topic: topic, N: n, Mode: i.Mode, Lease: i.Lease, Reason: strings.ToValidUTF8(i.Reason, "?"), Received: time.Now()}
	if err := x.tell(r.Context(), &ws); err != nil {
		return x.later(topic, err)
	}
	if i.Mode == websub.Denied {
		return reply{http.StatusOK, "", "denied"}
	}
	return reply{http.StatusOK, i.Challenge, "confirmed"}
}

// delivered receives a delivery that is signed by its hub. A delivery that is equal to one of the
// last hour is ignored. Later an equal delivery counts, because a hub may send the same text each
// time, such as "it has changed". To a hub that we have left, the answer makes it end the
// subscription (WebSub §7).
func (x *WebSub) delivered(w http.ResponseWriter, r *http.Request, topic canon.URL, n int, key string) reply {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxDelivery))
	if err != nil {
		return reply{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body cannot be read or is larger than %d KiB\n", MaxDelivery>>10), "refused"}
	}
	if err := websub.Verify(r.Header.Get("X-Hub-Signature"), key, body); err != nil {
		return reply{http.StatusForbidden, err.Error() + "\n", "forged"}
	}
	if x.left(r.Context(), topic, n) {
		return reply{http.StatusGone, "the subscription has ended\n", "gone"}
	}
	digest := sha256.Sum256(append([]byte(key), body...))
	if !x.first(digest) {
		return reply{http.StatusOK, "this content was already delivered\n", "replayed"}
	}
	ws := crawl.WebSub{Topic: topic, N: n, Mode: crawl.WebSubDeliver, Received: time.Now()}
	ws.URLs, ws.Mods = entries(topic, body, ws.Received)
	if err := x.tell(r.Context(), &ws); err != nil {
		x.forget(digest)
		return x.later(topic, err)
	}
	return reply{http.StatusAccepted, "taken\n", "taken"}
}

// left asks the shard of a topic whether we have left a hub. Without an answer it returns false:
// the delivery then waits in the shard's log.
func (x *WebSub) left(ctx context.Context, topic canon.URL, n int) bool {
	ctx, cancel := context.WithTimeout(ctx, leftPatience)
	defer cancel()
	i, err := x.intends(ctx, crawl.WebSubQuestion{Topic: string(topic), N: n, Mode: crawl.WebSubDeliver})
	return err == nil && i.Left
}

func (x *WebSub) later(topic canon.URL, err error) reply {
	x.log.Error("a request of a hub cannot be accepted now", "topic", topic, "err", err)
	return reply{http.StatusServiceUnavailable, "the request cannot be accepted now\n", "later"}
}

// first remembers a delivery, and reports whether it was not known yet.
func (x *WebSub) first(digest [sha256.Size]byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if at, known := x.seen[digest]; known && now.Sub(at) < replayFor {
		return false
	}
	if len(x.seen) >= maxReplays {
		clear(x.seen)
	}
	x.seen[digest] = now
	return true
}

func (x *WebSub) forget(digest [sha256.Size]byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.seen, digest)
}

// entries returns the URLs of a feed that are on the topic's host, as many as fit into a message,
// and when each changed. It returns none if it cannot read the feed.
func entries(topic canon.URL, body []byte, now time.Time) (urls []canon.URL, mods []int64) {
	base, size := canon.NewBase(topic), 0
	// An error does not matter: then the feed itself will be fetched.
	_, _ = sitemap.ReadFeed(bytes.NewReader(body), sitemap.Options{MaxBytes: MaxDelivery, MaxEntries: MaxDeliveryEntries}, func(e sitemap.Entry) error {
		u, err := base.Join(e.Loc)
		if err != nil || u.Host() != topic.Host() {
			return nil
		}
		if size += len(u) + 16; size > partBytes {
			return errors.New("enough")
		}
		mod := int64(0)
		if t := e.LastMod; !t.IsZero() && t.Before(now.Add(24*time.Hour)) {
			mod = t.Unix()
		}
		urls, mods = append(urls, u), append(mods, mod)
		return nil
	})
	return urls, mods
}

func (x *WebSub) tell(ctx context.Context, ws *crawl.WebSub) error {
	ev := crawl.Event{WebSub: []crawl.WebSub{*ws}}
	return x.append(ctx, crawl.ShardOf(ws.Topic.Host(), x.shards), crawl.AppendEvent(nil, &ev))
}

// Serve accepts deliveries at a listener until ctx ends.
func (x *WebSub) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: x, ReadTimeout: time.Minute, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(x.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(limited(ln, nil, x.log)); ctx.Err() == nil {
		return err
	}
	return nil
}
