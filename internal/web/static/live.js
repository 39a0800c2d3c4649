// Follows a page: its own address, asked for as an event stream, sends the main part again whenever
// it has changed. What has an id is replaced piece by piece, so that what somebody reads, has opened
// or is writing in stays as it is.
(() => {
  const main = document.querySelector('main[data-live]')
  const state = document.getElementById('live')
  if (!main || !state || !window.EventSource) return
  let source = null
  let heard = 0 // when there was the last word from the server

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

  const refocus = (el, at) => {
    if (at !== null && at >= 0) el.querySelectorAll('a, button, summary, [tabindex]')[at]?.focus()
  }

  const replace = (html) => {
    const next = document.createElement('main')
    next.innerHTML = html
    const parts = (el) => [...el.children].map((c) => c.id)
    if (parts(main).join() !== parts(next).join() || parts(next).includes('')) {
      // Parts have come or gone.
      if (busy(main)) return
      const at = focused(main)
      keepOpen(main, next)
      main.replaceChildren(...next.childNodes)
      refocus(main, at)
      return
    }
    for (const now of [...next.children]) {
      const was = document.getElementById(now.id)
      keepOpen(was, now)
      if (was.outerHTML === now.outerHTML || busy(was)) continue
      const at = focused(was)
      was.replaceWith(now)
      refocus(now, at)
    }
  }

  const begin = () => {
    if (source || document.hidden) return
    heard = Date.now()
    source = new EventSource(location.href)
    source.addEventListener('says', (e) => { heard = Date.now(); say(e.data) })
    source.addEventListener('main', (e) => { heard = Date.now(); replace(e.data) })
    source.addEventListener('trouble', (e) => { heard = Date.now(); say(e.data) })
    source.addEventListener('still', () => { heard = Date.now() })
    source.onerror = () => {
      say('The connection is lost. The page may be out of date.')
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
  window.addEventListener('pageshow', begin)
  // A machine that has slept, or a net that was changed, may leave a connection on which nothing
  // comes. The server says something every 15 seconds.
  setInterval(() => {
    if (!source || Date.now() - heard < 45000) return
    say('The connection is lost. The page may be out of date.')
    end()
    begin()
  }, 15000)
  begin()
})()
