package wire

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/pkg/botauth"
)

// sign adds the signature to the head of the running request, if it is to have one. It is called
// when there is a connection and nothing is waited for any more: a signature is valid for a minute
// only, and the wait for a token may be longer. After that the request is written.
//
// Each request has its own signature, also each request of a redirect, and one that is sent again
// because its connection was given up.
func (h *Session) sign() error {
	if h.unsigned.Header == nil {
		return nil
	}
	var nonce [botauth.NonceBytes]byte
	rand.Read(nonce[:]) // it never fails
	now := time.Now()
	f, err := h.c.opt.Signer.Sign(&h.unsigned, now, nonce[:])
	if err != nil {
		return err
	}
	f.Set(h.unsigned.Header)
	// A request whose connection was given up is signed again, and still counts as one.
	if h.signedAt.IsZero() && h.c.onSigned != nil {
		h.c.onSigned()
	}
	h.signedAt = now
	return nil
}

// compareClocks compares the time of a signature with the time in its answer.
func (h *Session) compareClocks(answer http.Header) {
	if h.signedAt.IsZero() || h.conn == nil {
		return
	}
	if off, report := h.c.skew.heard(h.conn.addr, answer, h.signedAt, time.Now()); report && h.c.onSkew != nil {
		h.c.onSkew(off)
	}
}
