/** A browser without scripts: keeps cookies by path, follows redirects, reads forms, and stops at the client's address. */

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Browser {
  /** Follows redirects until a page, or an address that is not the provider's; that one is returned, not requested. */
  open(address: string, init?: RequestInit): Promise<Page>
  /** Submits the page's form whose action ends with this, with its hidden fields. */
  submit(page: Page, ending: string, fields: Readonly<Record<string, string>>): Promise<Page>
  readonly cookies: ReadonlyMap<string, string>
}

/** How requests are sent: plain `fetch`, or one that trusts a certificate of the tests. */
export type Ask = (address: string | URL, init?: RequestInit) => Promise<Response>

const MAX_REDIRECTS = 12

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

export function openBrowser(
  authUrl: string,
  headers: Readonly<Record<string, string>> = {},
  ask: Ask = fetch,
): Browser {
  const jar = new Map<string, Cookie>()

  const cookiesFor = (path: string): string =>
    [...jar.values()]
      .filter((cookie) => path === cookie.path || path.startsWith(cookie.path.replace(/\/?$/, '/')))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')

  const keep = (response: Response): void => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/;\s*/)
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      const path = /^path=(.*)/i.exec(attributes.find((one) => /^path=/i.test(one)) ?? '')?.[1]
      const isOver = attributes.some((one) => /^expires=Thu, 01 Jan 1970/i.test(one))
      const key = `${name} ${path ?? '/'}`
      if (isOver) jar.delete(key)
      else jar.set(key, { name, value, path: path ?? '/' })
    }
  }

  const open = async (address: string, init: RequestInit = {}): Promise<Page> => {
    let next = new URL(address, authUrl)
    let request = init
    for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
      const cookie = cookiesFor(next.pathname)
      const response = await ask(next, {
        ...request,
        headers: { ...headers, ...(cookie && { cookie }), ...request.headers },
        redirect: 'manual',
      })
      keep(response)
      const location = response.headers.get('location')
      const text = await response.text()
      const page = { url: next.href, status: response.status, headers: response.headers, text }
      if (location === null) return page
      next = new URL(location, next)
      if (next.origin !== new URL(authUrl).origin) return { ...page, url: next.href }
      request = {}
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects from ${address}`)
  }

  return {
    open,
    submit(page, ending, fields) {
      const { action, hidden } = findForm(page, ending)
      return open(new URL(action, page.url).href, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: new URL(page.url).origin,
        },
        body: new URLSearchParams({ ...hidden, ...fields }).toString(),
      })
    },
    get cookies() {
      return new Map([...jar.values()].map(({ name, value }) => [name, value]))
    },
  }
}

export interface Form {
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
}

/** The page's form whose action ends with this. */
export function findForm({ text, url }: Page, ending: string): Form {
  for (const [, tag = '', inside = ''] of text.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)) {
    const action = /action="([^"]*)"/.exec(tag)?.[1] ?? ''
    if (!action.endsWith(ending)) continue
    const hidden: Record<string, string> = {}
    for (const [input] of inside.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
      hidden[/name="([^"]*)"/.exec(input)?.[1] ?? ''] = /value="([^"]*)"/.exec(input)?.[1] ?? ''
    }
    return { action, hidden }
  }
  throw new Error(
    `no form ends in "${ending}" on ${url}:\n${text.replace(/<style.*?<\/style>/s, '')}`,
  )
}
