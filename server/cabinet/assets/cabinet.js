// What the pages do beyond HTML: figures that live, a secret that is copied, an answer that streams. Each page works without it.
const source = () => document.querySelector('[data-live]')?.dataset.live
let stream = null

const show = (figures) => {
  for (const [name, text] of Object.entries(figures)) {
    for (const place of document.querySelectorAll(`[data-figure="${CSS.escape(name)}"]`)) {
      if (place.textContent === text) continue
      place.textContent = text
    }
  }
}

let latest = null
let drawn = null
// Who is in the list by keyboard keeps their place: it is drawn again once they have left it.
const drawRequests = () => {
  const list = document.querySelector('[data-latest]')
  if (list === null || [null, drawn, list.dataset.latest].includes(latest)) return
  if (list.contains(document.activeElement)) return
  drawn = latest
  list.dispatchEvent(new CustomEvent('request-came'))
}

const live = () => {
  const path = source()
  if (stream?.path === path) return
  stream?.events.close()
  stream = null
  if (path === undefined) return
  const events = new EventSource(path)
  events.addEventListener('figures', ({ data }) => {
    const figures = JSON.parse(data)
    show(figures.shown)
    latest = figures.latest
    drawRequests()
  })
  // The session has ended: whoever looks at the page is shown that.
  events.addEventListener('ended', ({ data }) => {
    events.close()
    if (data === '') location.reload()
    else location.replace(data)
  })
  stream = { path, events }
}

const copy = async (button) => {
  const text = document.getElementById(button.dataset.copy)?.textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const range = document.createRange()
    range.selectNodeContents(document.getElementById(button.dataset.copy))
    getSelection().removeAllRanges()
    getSelection().addRange(range)
    return
  }
  const said = button.textContent
  button.textContent = button.dataset.copied
  setTimeout(() => {
    button.textContent = said
  }, 2000)
}

const ask = async (form) => {
  const place = document.getElementById(form.dataset.stream)
  const button = form.querySelector('button')
  button.disabled = true
  place.textContent = ''
  place.hidden = false
  try {
    const answer = await fetch(form.action, {
      method: 'POST',
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: 'text/event-stream' },
    })
    // The session has ended, as above.
    if (answer.status === 204) return location.reload()
    if (!answer.headers.get('content-type').startsWith('text/plain')) {
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      place.textContent = page.querySelector('main .problem, main .note')?.textContent ?? ''
      button.disabled = false
      return
    }
    const decoder = new TextDecoder()
    // Not every browser iterates a body.
    const reader = answer.body.getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      place.textContent += decoder.decode(part.value, { stream: true })
    }
  } catch (thrown) {
    place.textContent += String(thrown)
  }
  button.disabled = false
  // It lost the focus when it was disabled.
  if (document.activeElement === document.body) button.focus()
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null
  if (button) void copy(button)
})
document.addEventListener('submit', (event) => {
  const form = event.target
  if (!(form instanceof HTMLFormElement) || form.dataset.stream === undefined) return
  event.preventDefault()
  void ask(form)
})
document.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.dataset.submits !== undefined)
    target.form.requestSubmit()
})
document.addEventListener('focusout', () => setTimeout(drawRequests))
document.addEventListener('htmx:afterSettle', ({ detail }) => {
  live()
  // What had the focus is gone with the page before: who reads by ear, or goes by keyboard, is at the new one.
  if (detail.boosted && document.activeElement === document.body) {
    document.getElementById('main')?.focus({ preventScroll: true })
  }
})
// The gateway was not reached: the browser says so, as it does without scripts.
document.addEventListener('htmx:sendError', ({ detail: { boosted, pathInfo, requestConfig } }) => {
  if (!boosted) return
  if (requestConfig.verb === 'get') location.assign(pathInfo.finalRequestPath)
  else location.reload()
})
document.documentElement.classList.add('scripted')
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', live)
else live()
