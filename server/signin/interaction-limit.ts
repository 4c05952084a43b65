/** How often one network may begin an interaction: each leaves a row behind for an hour, whoever asks and for nothing. */
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
import { type Clock, type Instant, instant, later, MINUTE_MS } from '#domain/clock.ts'
import { networkOf } from './mail-code.ts'

/** A company behind one address begins its day within these; codes are bounded more tightly, and apart. */
const MOST = 100
/** From a /48 of IPv6, which one customer may have whole, and with it 65,536 networks. */
const MOST_OF_SITE = 10 * MOST
const WITHIN_MS = 10 * MINUTE_MS

export interface InteractionLimit {
  /** Counts one from a network address. @throws TooManyInteractions */
  begin(address: string): void
}

/** Nothing is redirected: a client could do no more about it than the person can. */
export class TooManyInteractions extends OIDCProviderError {
  override allow_redirect = false
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super(429, 'temporarily_unavailable')
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Counted in memory, everybody anew when the time is over: so it needs no sweeping, and a restart forgives. */
export function limitInteractions(clock: Clock): InteractionLimit {
  const begun = new Map<string, number>()
  let until: Instant = instant(0)

  return {
    begin(address) {
      const at = clock.now()
      if (at >= until) {
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
  return site === undefined ? [own] : [own, [`${site}:/48`, MOST_OF_SITE]]
}
