/** Which events reach the log of signing in: each is counted, and a network that is refused again and again fills no disk. */
import type { SigninDeps } from './deps.ts'
import { limitInteractions, TooManyInteractions } from './interaction-limit.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { isRefusal, type SigninEvent } from './register/signin-event.ts'

export interface Journal {
  /** Those to write: of refusals, as many from one network as it may begin sign-ins. */
  kept(events: readonly SigninEvent[]): readonly SigninEvent[]
  /** They happened, written or not. */
  told(events: readonly SigninEvent[]): void
}

export function openJournal({ clock, limits, observed }: SigninDeps): Journal {
  const refusals = limitInteractions(clock, (limits ?? DEFAULT_LIMITS).signinsPerNetwork)
  const isKept = ({ outcome, address }: SigninEvent): boolean => {
    if (!isRefusal(outcome)) return true
    try {
      refusals.begin(address)
      return true
    } catch (thrown) {
      if (thrown instanceof TooManyInteractions) return false
      throw thrown
    }
  }
  return {
    kept: (events) => events.filter(isKept),
    told: (events) => {
      for (const event of events) observed?.(event)
    },
  }
}
