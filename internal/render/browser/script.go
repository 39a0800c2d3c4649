package browser

// seededScript runs before the scripts of every document. It replaces random numbers by those that
// are the same each time (mulberry32), and rounds the clock of high resolution to milliseconds: its
// fractions depend on the time since the machine was started.
const seededScript = `(() => {
	let s = 0x43757274;
	const next = () => {
		s = s + 0x6D2B79F5 | 0;
		let t = Math.imul(s ^ s >>> 15, 1 | s);
		t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
		return (t ^ t >>> 14) >>> 0;
	};
	Math.random = function random() { return next() / 4294967296; };
	const now = Performance.prototype.now;
	Performance.prototype.now = function() { return Math.round(now.call(this)); };
	const fill = (a) => {
		const b = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
		for (let i = 0; i < b.length; i++) b[i] = next() >>> 24;
		return a;
	};
	const hex = (n) => n.toString(16).padStart(2, '0');
	if (self.Crypto) {
		Crypto.prototype.getRandomValues = function getRandomValues(a) {
			if (!ArrayBuffer.isView(a) || a instanceof Float32Array || a instanceof Float64Array || a instanceof DataView)
				throw new DOMException('The type of the array is not an integer type.', 'TypeMismatchError');
			if (a.byteLength > 65536) throw new DOMException('Too many bytes.', 'QuotaExceededError');
			return fill(a);
		};
		if (Crypto.prototype.randomUUID) Crypto.prototype.randomUUID = function randomUUID() {
			const b = fill(new Uint8Array(16));
			b[6] = b[6] & 15 | 64; b[8] = b[8] & 63 | 128;
			const h = Array.from(b, hex).join('');
			return [h.slice(0, 8), h.slice(8, 12), h.slice(12, 16), h.slice(16, 20), h.slice(20)].join('-');
		};
	}
})();`
