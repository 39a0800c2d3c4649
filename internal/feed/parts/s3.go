package parts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/curtsy/curtsy/internal/feed"
)

// requestTime is how long a request may take, so that a lost server is noticed.
const requestTime = 2 * time.Minute

// Options are what a URL does not have. The zero value takes the defaults.
type Options struct {
	// Dial opens connections; nil means those of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// bucket is a bucket of S3, below a prefix.
type bucket struct {
	client *minio.Client
	idle   func()
	name   string
	prefix string // empty, or with a slash at its end
}

// openBucket takes the credentials from the environment, as Amazon's tools do: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Those are read again for each request.
func openBucket(u *url.URL, q url.Values, o Options) (*bucket, error) {
	if u.Host == "" {
		return nil, errors.New("the URL has no bucket: write s3://BUCKET/PREFIX")
	}
	region := cmp.Or(q.Get("region"), "us-east-1")
	endpoint, err := url.Parse(cmp.Or(q.Get("endpoint"), "https://s3."+region+".amazonaws.com"))
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("endpoint=%.100s is not the URL of a server, such as https://s3.example.org:9000", q.Get("endpoint"))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.Dial != nil {
		transport.DialContext, transport.Proxy = o.Dial, nil
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewEnvAWS(), Secure: endpoint.Scheme == "https", Transport: transport, Region: region,
		MaxRetries: 1, // the feed tries again, and waits longer each time
	})
	if err != nil {
		return nil, err
	}
	b := &bucket{client: client, idle: transport.CloseIdleConnections, name: u.Host}
	if p := strings.Trim(u.Path, "/"); p != "" {
		b.prefix = p + "/"
	}
	return b, nil
}

func (b *bucket) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	there, err := b.client.BucketExists(ctx, b.name)
	if err == nil && !there {
		err = &feed.Permanent{Err: fmt.Errorf("there is no bucket %s: make it, or check endpoint and region in the URL", b.name)}
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusForbidden {
		return nil // one may write into a bucket that one may not list
	}
	return b.classify(err)
}

// put stores an object in one request. The server compares it with its MD5, so that a request that
// was cut off stores nothing.
func (b *bucket) put(ctx context.Context, name string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	kind := "application/vnd.apache.parquet"
	if strings.HasSuffix(name, ".jsonl") {
		kind = "application/x-ndjson"
	}
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(content), int64(len(content)),
		minio.PutObjectOptions{ContentType: kind, DisableMultipart: true, SendContentMd5: true, DisableContentSha256: true})
	return b.classify(err)
}

func (b *bucket) list(ctx context.Context, prefix string, do func(name string) error) error {
	ctx, cancel := context.WithCancel(ctx) // ends the goroutine of the list
	defer cancel()
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if object.Err != nil {
			return b.classify(object.Err)
		}
		if err := do(strings.TrimPrefix(object.Key, b.prefix)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *bucket) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return b.classify(b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}))
}

func (b *bucket) close() { b.idle() }

// classify makes a permanent error of an answer that an operator must mend.
func (b *bucket) classify(err error) error {
	r := minio.ToErrorResponse(err)
	advice := ""
	switch {
	case err == nil:
		return nil
	case r.Code == "RequestTimeTooSkewed":
		advice = "set the clock of this machine"
	case r.Code == "NoSuchBucket":
		advice = "make the bucket, or check endpoint and region in the URL"
	case r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden:
		advice = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may put, list and delete objects in the bucket"
	case r.StatusCode == http.StatusMovedPermanently || r.StatusCode == http.StatusBadRequest && r.Code == "AuthorizationHeaderMalformed":
		advice = "add region=REGION of the bucket to the URL"
	default:
		return fmt.Errorf("s3://%s: %w", b.name, err)
	}
	return &feed.Permanent{Err: fmt.Errorf("s3://%s: %w: %s", b.name, err, advice)}
}
