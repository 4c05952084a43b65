/** The lookout: every few seconds it looks at the disk, the clock, the certificates and the providers, and tells of trouble. */
import { type Clock, DAY_MS, HOUR_MS, LARGE_STEP_MS, pause, renderInstant } from '#domain/clock.ts'
import type { SteadyClock } from '#domain/steady-clock.ts'
import type { Store } from '#domain/store.ts'
import { readFreeSpace, spaceLevel } from '#operator/doctor/host.ts'
import { lookAtProviders, type ProviderSight } from './provider-lookout.ts'
import type { Serving } from './serving.ts'
import type { Teller } from './teller.ts'

export interface LookoutOptions extends ProviderSight {
  readonly store: Pick<Store, 'events' | 'catalogue'>
  readonly clock: Clock
  readonly steadyClock: SteadyClock
  readonly teller: Teller
  /** Null for a store in memory. */
  readonly dataDir?: string | null
  readonly serving: Pick<Serving, 'look' | 'hops' | 'credentials' | 'certificateEnds'>
  /** How often it looks. */
  readonly lookEveryMs?: number
  /** Logs an internal error; the next look tries again. */
  readonly logFault?: (cause: unknown) => void
}

export interface Lookout {
  /** Resolves when the last look has ended. */
  stop(): Promise<void>
}

const EVERY_MS = 5_000

/** Runs until it is stopped. What quiet hours held back, or a digest, it hands to the outbox. */
export function startLookout(options: LookoutOptions): Lookout {
  const { store, clock, serving, lookEveryMs = EVERY_MS, logFault = () => {} } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const looks = [
    () => store.events.release(clock.now()),
    () => serving.look(),
    lookAtProviders(options),
    lookAtDisk(options),
    lookAtClock(options),
    lookAtCertificates(options),
  ].map((look) => ({ look, hasFailed: false }))

  async function run(): Promise<void> {
    for (;;) {
      for (const one of looks) {
        try {
          await one.look()
          one.hasFailed = false
        } catch (cause) {
          // A trouble that stays is logged once.
          if (!one.hasFailed) logFault(cause)
          one.hasFailed = true
        }
      }
      await pause(lookEveryMs, signal)
    }
  }

  // It ends by being stopped.
  const running = run().catch(() => {})
  return {
    async stop() {
      stopped.abort()
      await running
    },
  }
}

type Look = () => Promise<void>

/** A disk that is at the edge is told once: it counts as ample again with a tenth more than is needed. */
const AMPLE_MARGIN = 0.9

function lookAtDisk({ dataDir = null, teller }: LookoutOptions): Look {
  return async () => {
    if (dataDir === null) return
    const { bytes, share } = await readFreeSpace(dataDir)
    const level = spaceLevel(bytes, share)
    if (level !== 'ample') {
      const [free_bytes, free_percent] = [bytes, Math.floor(share * 100)]
      await teller.raise('gateway.disk_low', {
        directory: dataDir,
        free_bytes,
        free_percent,
        level,
      })
    }
    const surely = spaceLevel(bytes * AMPLE_MARGIN, share * AMPLE_MARGIN)
    if (surely !== 'full') await teller.lift('gateway.disk_low', 'full')
    if (surely === 'ample') await teller.lift('gateway.disk_low', 'low')
  }
}

/** How long a step back is told of, where the clock does not step again. */
const STEP_BACK_MS = HOUR_MS

function lookAtClock({ clock, steadyClock, teller }: LookoutOptions): Look {
  let before = { at: clock.now(), ms: clock.monotonicMs() }
  let backUntilMs = Number.NEGATIVE_INFINITY
  const raise = (aheadMs: number): Promise<void> =>
    teller.raise('gateway.clock_wrong', { ahead_seconds: Math.round(aheadMs / 1_000) })
  return async () => {
    const now = { at: clock.now(), ms: clock.monotonicMs() }
    const steppedMs = now.at - before.at - (now.ms - before.ms)
    before = now
    const jump = steadyClock.jump()
    if (jump !== null) return jump.aheadMs > 0 ? await raise(jump.aheadMs) : undefined
    // A clock that is set right again after it was ahead is no new trouble.
    const isBack = steppedMs < -LARGE_STEP_MS && teller.open('gateway.clock_wrong').size === 0
    if (isBack) {
      backUntilMs = now.ms + STEP_BACK_MS
      await raise(steppedMs)
    } else if (now.ms >= backUntilMs) {
      await teller.lift('gateway.clock_wrong', 'clock')
    }
  }
}

/** A certificate that is renewed by itself is renewed earlier. */
const TELL_DAYS = 14

function lookAtCertificates({ clock, serving, teller }: LookoutOptions): Look {
  return async () => {
    for (const [host, end] of serving.certificateEnds()) {
      const days_left = Math.max(0, Math.floor((end - clock.now()) / DAY_MS))
      if (days_left > TELL_DAYS) continue
      await teller.raise('gateway.certificate_ending', {
        host,
        ends_at: renderInstant(end),
        days_left,
      })
    }
  }
}
