package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/pagereader"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// robotOnly sends the robot, and returns what it has now as a crawl stores it. The second time, it
// gets the table of what it brought before.
func (m *manuals) robotOnly(ctx context.Context, what string, t *table) (map[string]string, error) {
	var hashes []uint64
	for path, page := range m.brought {
		hashes = append(hashes, reading.KnownHash(path, page.digest))
	}
	if m.brought == nil {
		m.brought = map[string]page{}
	}
	octets, exchanges, began := m.robots.octets.Load(), m.robots.connections.Load(), time.Now()
	v := visit{m: m}
	if err := v.run(ctx, reading.MakeTable(hashes)); err != nil {
		return nil, err
	}
	t.row(what, "robot-only", figures{atp: int(m.robots.connections.Load() - exchanges), atpOctets: m.robots.octets.Load() - octets, seconds: time.Since(began).Seconds(), stored: len(m.brought)})
	fmt.Fprintf(t.w, "(%d documents with %d octets, %d unchanged; processor time of the run %.1f s)\n", v.sent, v.octets, v.unchanged, v.cpu)
	pages := map[string]string{}
	for path, p := range m.brought {
		pages["http://"+m.site.address()+path] = p.text
	}
	return pages, nil
}

// page is a document that the robot brought.
type page struct {
	digest uint64
	text   string // as the crawls have it
}

// visit is one run of the robot.
type visit struct {
	m               *manuals
	client          atp.Client
	address         atp.Address
	sent, unchanged int
	octets          int64
	cpu             float64
}

func (v *visit) run(ctx context.Context, known reading.Table) (err error) {
	if v.address, err = atp.ParseAddress("atp://" + v.m.robots.address()); err != nil {
		return err
	}
	id, err := v.dispatch(ctx, known)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(v.fetch(ctx, id, w)) }()
	return v.read(r)
}

// dispatch sends the robot, and the module with it only if the host does not have it.
func (v *visit) dispatch(ctx context.Context, known reading.Table) (id string, err error) {
	in := reading.Input{Token: "curtsy", Want: reading.Pages, Types: []string{"text/html", "text/plain", "application/xhtml+xml"}, MaxSize: 10 << 20, Known: known}
	input, err := in.Encode()
	if err != nil {
		return "", err
	}
	pem, err := os.ReadFile(v.m.file("robot.pem"))
	if err != nil {
		return "", err
	}
	key, err := botauth.ParseKey(pem)
	if err != nil {
		return "", err
	}
	now := time.Now().Unix()
	ticket := mobile.Ticket{
		Host: v.address.String(), Site: "http://" + v.m.site.address(), Subtree: "/", Token: in.Token, Module: pagereader.Digest(), Input: mobile.Digest(input), NotBefore: now, NotAfter: now + 600,
	}
	line, signature, err := ticket.Sign(key, rand.Reader)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(mobile.WriteDispatch(z, line, signature, input), z.Close()); err != nil {
		return "", err
	}
	header := textproto.MIMEHeader{}
	header.Set(atp.ContentType, mobile.ContentType)
	header.Set(atp.ContentEncoding, "gzip")
	for _, body := range [][]byte{b.Bytes(), append(b.Bytes(), pagereader.Packed()...)} {
		var res *atp.Response
		if res, err = v.client.Do(ctx, v.address, &atp.Request{Method: atp.Dispatch, Header: header, Body: bytes.NewReader(body), Length: int64(len(body))}); err != nil {
			return "", err
		}
		id, err = res.Header.Get(atp.AgentID), errors.Join(res.Err(), res.Body.Close())
		if err == nil || res.Status != 428 {
			return id, err
		}
	}
	return "", err
}

// fetch copies the stream of results until its end.
func (v *visit) fetch(ctx context.Context, id string, w io.Writer) error {
	for from, whole := int64(0), false; !whole; {
		header := textproto.MIMEHeader{}
		header.Set(atp.AgentID, id)
		header.Set(atp.Range, fmt.Sprintf("octets=%d-", from))
		res, err := v.client.Do(ctx, v.address, &atp.Request{Method: atp.Fetch, Header: header})
		if err != nil {
			return err
		}
		if err := res.Err(); err != nil {
			return errors.Join(err, res.Body.Close())
		}
		n, err := io.Copy(w, res.Body)
		from, whole = from+n, res.Length >= 0
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}

// read reads the records.
func (v *visit) read(r io.Reader) error {
	z, err := zstd.NewReader(r)
	if err != nil {
		return err
	}
	defer z.Close()
	for results := mobile.NewResultReader(z); ; {
		got, err := results.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case got.End != nil:
			if v.cpu = got.End.CPU; got.End.Outcome != mobile.Done {
				return fmt.Errorf("the run ended: %s: %s", got.End.Outcome, got.End.Reason)
			}
		case got.Record != nil:
			record, err := reading.ParseRecord(got.Record)
			if err != nil {
				return err
			}
			v.unchanged += len(record.Paths)
			if record.Kind == reading.Document {
				v.sent++
				v.octets += int64(len(record.Body))
				v.m.brought[record.Path] = page{reading.Digest(record.Body), mobile.Digest(record.Body) + " " + reading.MediaType(record.Head.Get("Content-Type"))}
			}
		}
	}
}
