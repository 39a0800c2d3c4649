package warc

import "hash/crc32"

// joinCRC is the CRC-32 of two concatenated texts, computed from the CRC of each and the length of
// the second. Checksums are polynomials over GF(2): each bit of the second text multiplies the
// first checksum by x, modulo the checksum's own polynomial.
func joinCRC(first, second uint32, length int) uint32 {
	power := uint32(1 << 31) // x⁰; the highest bit is the lowest power
	for step, n := uint32(1<<23), length; n > 0; n >>= 1 {
		if n&1 == 1 {
			power = timesMod(power, step) // x⁸, and then its squares
		}
		step = timesMod(step, step)
	}
	return timesMod(power, first) ^ second
}

// timesMod multiplies modulo the polynomial of crc32.IEEE.
func timesMod(a, b uint32) (product uint32) {
	for bit := uint32(1 << 31); bit > 0; bit >>= 1 {
		if a&bit > 0 {
			product ^= b
		}
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return product
}
