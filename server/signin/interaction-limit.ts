/** Rate limit of new interactions per network, because each stores a row for an hour without authentication. */
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
import { type Clock, type Instant, instant, later, MINUTE_MS } from '#domain/clock.ts'
import { NETWORKS_OF_SITE, networkOf, siteOf } from './network.ts'

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
export function limitInteractions(clock: Clock, most: number): InteractionLimit {
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
      const counted = boundsOf(networkOf(address), most)
      if (counted.some(([name, bound]) => (begun.get(name) ?? 0) >= bound)) {
        throw new TooManyInteractions(Math.ceil((until - at) / 1000))
      }
      for (const [name] of counted) begun.set(name, (begun.get(name) ?? 0) + 1)
    },
  }
}

function boundsOf(
  network: string,
  most: number,
): readonly (readonly [name: string, most: number])[] {
  const site = siteOf(network)
  const own = [network, most] as const
  return site === null ? [own] : [own, [site, NETWORKS_OF_SITE * most]]
}
