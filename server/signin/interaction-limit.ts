/** Rate limit of new interactions per network, because each stores a row for an hour without authentication. */
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
import { type Clock, type Instant, instant, later, MINUTE_MS } from '#domain/clock.ts'
import { networkOf } from './mail-code.ts'

/** Enough for a company behind one address; codes have their own, tighter limit. */
const MOST = 100
/** For an IPv6 /48, which one customer may have, with 65,536 networks. */
const MAX_OF_SITE = 10 * MOST
const WITHIN_MS = 10 * MINUTE_MS

export interface InteractionLimit {
  /** Counts one from a network address. @throws TooManyInteractions */
  begin(address: string): void
}

/** Shown as a page instead of a redirect, because the client cannot do anything about it. */
export class TooManyInteractions extends OIDCProviderError {
  override allow_redirect = false
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super(429, 'temporarily_unavailable')
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Fixed windows in memory: no cleanup is needed, and a restart resets them. */
export function limitInteractions(clock: Clock): InteractionLimit {
  const begun = new Map<string, number>()
  let until: Instant = instant(0)

  return {
    begin(address) {
      const at = clock.now()
      // A window that ends later than a new one was begun before the clock was set back.
      if (at >= until || until > later(at, WITHIN_MS)) {
        begun.clear()
        until = later(at, WITHIN_MS)
      }
      const counted = boundsOf(networkOf(address))
      if (counted.some(([name, most]) => (begun.get(name) ?? 0) >= most)) {
        throw new TooManyInteractions(Math.ceil((until - at) / 1000))
      }
      for (const [name] of counted) begun.set(name, (begun.get(name) ?? 0) + 1)
    },
  }
}

function boundsOf(network: string): readonly (readonly [name: string, most: number])[] {
  const site = /^((?:[\da-f]+:){3})/.exec(network)?.[1]
  const own = [network, MOST] as const
  return site === undefined ? [own] : [own, [`${site}:/48`, MAX_OF_SITE]]
}
