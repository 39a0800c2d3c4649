// Follows a page: its own address, asked for as an event stream, sends the main part again whenever
// it has changed. What has an id is replaced piece by piece, so that what somebody reads, has opened
// or is writing in stays as it is.
(() => {
  const main = document.querySelector('main[data-live]')
  const state = document.getElementById('live')
  if (!main || !state || !window.EventSource) return
  let source = null

  const say = (text) => { if (state.textContent !== text) state.textContent = text }

  const busy = (el) => el.contains(document.activeElement) && document.activeElement.matches('input, select, textarea')

  const keepOpen = (was, now) => {
    const open = was.querySelectorAll('details')
    now.querySelectorAll('details').forEach((d, i) => { if (open[i]) d.open = open[i].open })
  }

  const focused = (el) => {
    const a = document.activeElement
    if (!a || !el.contains(a)) return null
    return [...el.querySelectorAll('a, button, summary, [tabindex]')].indexOf(a)
  }

  const replace = (html) => {
    const next = document.createElement('main')
    next.innerHTML = html
    const parts = (el) => [...el.children].map((c) => c.id)
    if (parts(main).join() !== parts(next).join() || parts(next).includes('')) {
      // Parts have come or gone.
      if (!busy(main)) { keepOpen(main, next); main.replaceChildren(...next.childNodes) }
      return
    }
    for (const now of [...next.children]) {
      const was = document.getElementById(now.id)
      keepOpen(was, now)
      if (was.outerHTML === now.outerHTML || busy(was)) continue
      const at = focused(was)
      was.replaceWith(now)
      if (at !== null && at >= 0) now.querySelectorAll('a, button, summary, [tabindex]')[at]?.focus()
    }
  }

  const begin = () => {
    if (source || document.hidden) return
    source = new EventSource(location.href)
    source.addEventListener('main', (e) => { replace(e.data); say('Live.') })
    source.addEventListener('trouble', (e) => say(e.data))
    source.onerror = () => {
      say('The connection is lost; what is shown may be old.')
      if (source.readyState === EventSource.CLOSED) { // refused: the browser does not try again
        source = null
        setTimeout(begin, 10000)
      }
    }
  }
  const end = () => { if (source) source.close(); source = null }

  // Nobody sees a hidden page, and a browser has few connections to a host.
  document.addEventListener('visibilitychange', () => document.hidden ? end() : begin())
  window.addEventListener('pagehide', end)
  begin()
})()
