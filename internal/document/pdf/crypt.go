package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// crypt decrypts files with an empty user password, which everybody may read (ISO 32000-2 §7.6.4).
type crypt struct {
	key     []byte
	method  name // V2 (RC4), AESV2, AESV3, Identity; of streams
	methodS name // of strings
}

// padding extends a short password (ISO 32000-2 §7.6.4.3, algorithm 2).
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// decrypt prepares for an encrypted file. The error is ErrEncrypted if a password is needed.
func (d *document) decrypt() error {
	if d.crypt != nil || d.trailer["Encrypt"] == nil {
		return nil
	}
	e, ok := d.resolve(d.trailer["Encrypt"]).(dict)
	if !ok || d.resolve(e["Filter"]) != name("Standard") {
		return ErrEncrypted
	}
	get := func(k name) int { n, _ := d.resolve(e[k]).(int); return n }
	text := func(k name) str { s, _ := d.resolve(e[k]).(str); return s }
	c := &crypt{method: "V2", methodS: "V2"}
	v, r, bits := get("V"), get("R"), get("Length")
	if bits < 40 || bits > 256 {
		bits = 40
	}
	if v >= 4 {
		filters, _ := d.resolve(e["CF"]).(dict)
		of := func(k name) name {
			n, _ := d.resolve(e[k]).(name)
			f, _ := d.resolve(filters[n]).(dict)
			if m, ok := d.resolve(f["CFM"]).(name); ok {
				return m
			}
			return "Identity"
		}
		c.method, c.methodS = of("StmF"), of("StrF")
		bits = 128
	}
	o, u := text("O"), text("U")
	var good bool
	if r >= 5 {
		if len(u) < 48 || len(text("UE")) < 32 {
			return ErrEncrypted
		}
		good = bytes.Equal(hash2B(nil, u[32:40], r), u[:32])
		block, err := aes.NewCipher(hash2B(nil, u[40:48], r))
		if err != nil {
			return ErrEncrypted
		}
		c.key = make([]byte, 32)
		cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(c.key, text("UE")[:32])
	} else {
		ids, _ := d.resolve(d.trailer["ID"]).(array)
		var id str
		if len(ids) > 0 {
			id, _ = d.resolve(ids[0]).(str)
		}
		p, _ := d.resolve(e["P"]).(int)
		h := md5.New()
		h.Write(padding)
		h.Write(o[:min(len(o), 32)])
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(p)))
		h.Write(id)
		if m, ok := d.resolve(e["EncryptMetadata"]).(bool); ok && !m && r >= 4 {
			h.Write([]byte{255, 255, 255, 255})
		}
		key, n := h.Sum(nil), 5
		if r >= 3 {
			n = min(bits/8, 16)
			for range 50 {
				sum := md5.Sum(key[:n])
				key = sum[:]
			}
		}
		c.key = key[:n]
		good = c.opens(u, id, r)
	}
	if !good {
		return ErrEncrypted
	}
	d.crypt = c
	clear(d.cache) // objects that were read so far are not decrypted
	clear(d.packs)
	return nil
}

// opens reports whether the key belongs to the user password (algorithms 4 and 5).
func (c *crypt) opens(u, id str, r int) bool {
	if r == 2 {
		out := make([]byte, 32)
		rc4Over(out, padding, c.key)
		return bytes.Equal(out, u)
	}
	sum := md5.Sum(append(bytes.Clone(padding), id...))
	out := sum[:]
	for i := range 20 {
		key := bytes.Clone(c.key)
		for j := range key {
			key[j] ^= byte(i)
		}
		rc4Over(out, out, key)
	}
	return len(u) >= 16 && bytes.Equal(out, u[:16])
}

func rc4Over(dst, src, key []byte) {
	if c, err := rc4.NewCipher(key); err == nil {
		c.XORKeyStream(dst, src)
	}
}

// hash2B is algorithm 2.B; revision 5 stops at the first hash.
func hash2B(password, salt []byte, r int) []byte {
	sum := sha256.Sum256(append(bytes.Clone(password), salt...))
	k := sum[:]
	if r < 6 {
		return k
	}
	for i := 0; ; i++ {
		one := append(bytes.Clone(password), k...)
		k1 := bytes.Repeat(one, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(k1, k1)
		n := 0
		for _, c := range k1[:16] {
			n += int(c)
		}
		switch n % 3 {
		case 0:
			s := sha256.Sum256(k1)
			k = s[:]
		case 1:
			s := sha512.Sum384(k1)
			k = s[:]
		default:
			s := sha512.Sum512(k1)
			k = s[:]
		}
		if i >= 63 && int(k1[len(k1)-1]) <= i-31 {
			return k[:32]
		}
	}
}

func (c *crypt) text(s str, of ref) str { return c.open(s, of, c.methodS) }

func (c *crypt) stream(b []byte, s *stream) []byte {
	if s.key.num == 0 {
		return b // of an object stream, which was decrypted as a whole
	}
	return c.open(b, s.key, c.method)
}

func (c *crypt) open(b []byte, of ref, method name) []byte {
	if method == "Identity" || method == "None" {
		return b
	}
	key := c.key
	if method != "AESV3" {
		k := append(bytes.Clone(c.key), byte(of.num), byte(of.num>>8), byte(of.num>>16), byte(of.gen), byte(of.gen>>8))
		if method == "AESV2" {
			k = append(k, "sAlT"...)
		}
		sum := md5.Sum(k)
		key = sum[:min(len(c.key)+5, 16)]
	}
	if method == "V2" {
		out := make([]byte, len(b))
		rc4Over(out, b, key)
		return out
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(b) < 32 {
		return nil
	}
	iv, b := b[:16], b[16:len(b)&^15]
	out := make([]byte, len(b))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, b)
	if n := int(out[len(out)-1]); n >= 1 && n <= 16 {
		out = out[:len(out)-n]
	}
	return out
}
