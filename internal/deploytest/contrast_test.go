//go:build external

package deploytest

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// seeing has functions that measure the colours of a page as WCAG 2.2 defines it: a transparent
// colour is mixed with what is behind it.
const seeing = `
	const rgba = s => { const c = s.match(/[\d.]+/g).map(Number); return c.length < 4 ? [...c, 1] : c }
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1)
	const behind = e => { const all = []; for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); all.push(c); if (c[3] === 1) break } return all.reduceRight((b, a) => over(a, b), [255, 255, 255, 1]) }
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const ratio = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + .05) / (Math.min(x, y) + .05) }
	const short = e => e ? e.outerHTML.slice(0, 90) : 'nothing'
`

// contrast checks that every text, and every placeholder of a field, has the contrast that WCAG 2.2
// §1.4.3 requires: 4.5 to 1, and 3 to 1 for large text.
func (b *browser) contrast(what string) {
	b.t.Helper()
	low := eval[[]string](b, `(() => {`+seeing+`
		const bad = new Set()
		const claim = (e, style) => {
			const back = behind(e), r = ratio(over(rgba(style.color), back), back), size = parseFloat(style.fontSize)
			if (r < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) bad.add(e.tagName + '.' + e.className + ' ' + r.toFixed(2))
		}
		for (const e of document.querySelectorAll('body *')) {
			if (e.placeholder) claim(e, getComputedStyle(e, '::placeholder'))
			if ([...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.checkVisibility()) claim(e, getComputedStyle(e))
		}
		return [...bad]
	})()`)
	if len(low) > 0 {
		b.t.Errorf("%s: too little contrast: %q", what, low)
	}
}

// mostTabs is the maximum number of times that the Tab key is pressed on a page.
const mostTabs = 60

// keyboard goes through a page with the Tab key: the focus must reach all elements that can be
// used, in reading order, and a ring must show where it is (WCAG 2.2 §2.1.1, §2.4.3, §2.4.7,
// §1.4.11). The page must have been opened just before, and no script may change it meanwhile.
func (b *browser) keyboard(what string) {
	b.t.Helper()
	const can = `'a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex="0"]'`
	n := eval[int](b, `(window.order = [...document.querySelectorAll(`+can+`)].filter(e => !e.disabled && e.checkVisibility())).length`)
	if n < 10 {
		b.t.Errorf("%s: only %d elements can be used", what, n)
	}
	var bad []string
	for i := range min(n, mostTabs) {
		b.do(chromedp.KeyEvent(kb.Tab))
		wrong := eval[string](b, fmt.Sprintf(`(() => {`+seeing+`
			const e = document.activeElement, want = window.order[%d]
			if (want.tagName === 'IFRAME') return 'end'
			if (e !== want) return 'end: the focus is on ' + short(e) + ' and not on ' + short(want)
			const s = getComputedStyle(e), r = e.getBoundingClientRect()
			if (s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2) return 'no ring around ' + short(e)
			if (ratio(rgba(s.outlineColor), behind(e.parentElement)) < 3) return 'a ring that is hard to see around ' + short(e)
			if (r.width === 0 || r.bottom < 0 || r.top > innerHeight) return 'out of sight: ' + short(e)
			return ''
		})()`, i))
		remaining, end := strings.CutPrefix(wrong, "end")
		if remaining != "" {
			bad = append(bad, remaining)
		}
		if end {
			break
		}
	}
	if len(bad) > 0 {
		b.t.Errorf("%s, with the Tab key: %s", what, strings.Join(bad, "\n"))
	}
}
