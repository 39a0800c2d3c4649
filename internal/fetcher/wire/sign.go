package wire

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/pkg/botauth"
)

// sign puts the signature into the head of the request under way, if it is to have one. That is
// done when there is a connection and nothing is waited for any more, since a signature is good for
// a minute only, and a place at an address may take longer to come by. The request is written after
// that.
//
// Each request has a signature of its own, so also each hop of a redirect, and one that is sent a
// second time because its connection was given up.
func (h *Session) sign() error {
	if h.unsigned.Header == nil {
		return nil
	}
	var nonce [botauth.NonceBytes]byte
	rand.Read(nonce[:]) // never fails
	now := time.Now()
	f, err := h.c.opt.Signer.Sign(&h.unsigned, now, nonce[:])
	if err != nil {
		return err
	}
	f.Set(h.unsigned.Header)
	// A request whose connection was given up is signed anew, and is still one.
	if h.signedAt.IsZero() && h.c.onSigned != nil {
		h.c.onSigned()
	}
	h.signedAt = now
	return nil
}

// compareClocks holds the time of a signature against the one that its answer tells.
func (h *Session) compareClocks(answer http.Header) {
	if h.signedAt.IsZero() || h.conn == nil {
		return
	}
	if off, report := h.c.skew.heard(h.conn.addr, answer, h.signedAt, time.Now()); report && h.c.onSkew != nil {
		h.c.onSkew(off)
	}
}
