// What a passkey needs a script for: to ask the browser for one. Where it has none, or runs no scripts, the pages do without.
const hasPasskeys = window.PublicKeyCredential !== undefined
/** The dialogue that is open, or waits in the field of the address. */
let asking = null

const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (byte) =>
    byte.charCodeAt(0),
  )
const encode = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** The options as the browser takes them, with bytes for base64url. */
const readOptions = (text) => {
  const options = JSON.parse(text)
  const toKnown = (known) => known?.map((one) => ({ ...one, id: decode(one.id) }))
  return {
    ...options,
    challenge: decode(options.challenge),
    ...(options.user && { user: { ...options.user, id: decode(options.user.id) } }),
    allowCredentials: toKnown(options.allowCredentials) ?? [],
    excludeCredentials: toKnown(options.excludeCredentials) ?? [],
  }
}

const writeResponse = (credential) => {
  const { id, rawId, type, response, authenticatorAttachment } = credential
  const written = { clientDataJSON: encode(response.clientDataJSON) }
  for (const name of ['attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    if (response[name]) written[name] = encode(response[name])
  }
  if (response.getTransports) written.transports = response.getTransports()
  const clientExtensionResults = credential.getClientExtensionResults()
  return JSON.stringify({
    id,
    rawId: encode(rawId),
    type,
    response: written,
    authenticatorAttachment,
    clientExtensionResults,
  })
}

/** Asks for a passkey, and posts the answer. `more`: how to ask. */
const ask = async (form, more = {}) => {
  asking?.abort()
  const mine = new AbortController()
  asking = mine
  const request = { publicKey: readOptions(form.dataset.options), signal: mine.signal, ...more }
  const credential = await (form.dataset.passkey === 'add'
    ? navigator.credentials.create(request)
    : navigator.credentials.get(request))
  if (mine !== asking || credential === null) return
  form.elements.namedItem('response').value = writeResponse(credential)
  form.submit()
}

const askNow = async (form) => {
  const button = form.querySelector('button')
  const said = form.querySelector('[data-failed]')
  button.disabled = true
  said.hidden = true
  try {
    await ask(form)
  } catch (thrown) {
    button.disabled = false
    // The device has one already, or nobody answered.
    said.textContent =
      thrown.name === 'InvalidStateError' ? said.dataset.known : said.dataset.failed
    said.hidden = false
    void wait(form)
  }
}

/** Passkeys among what the browser suggests for the address. */
const wait = async (form) => {
  if (form.dataset.passkey !== 'wait') return
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  await ask(form, { mediation: 'conditional' }).catch(() => {})
}

document.addEventListener('submit', (event) => {
  const form = event.target
  if (!(form instanceof HTMLFormElement) || form.dataset.passkey === undefined) return
  event.preventDefault()
  void askNow(form)
})

const begin = () => {
  const shown = hasPasskeys ? '[data-with-passkeys]' : '[data-without-passkeys]'
  for (const part of document.querySelectorAll(shown)) part.hidden = false
  if (!hasPasskeys) return
  for (const field of document.querySelectorAll('input[data-passkeys]')) field.value = 'yes'
  const form = document.querySelector('form[data-passkey="wait"]')
  if (form !== null) void wait(form)
}
document.addEventListener('htmx:afterSettle', begin)
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', begin)
else begin()
