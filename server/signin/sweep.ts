/** Removes expired sign-in data in slices, between which requests are served. */
import { DAY_MS, later, MINUTE_MS } from '#domain/clock.ts'
import type { SigninDeps } from './deps.ts'
import { LOOKBACK_MS } from './mail-code.ts'

const SWEEP_EVERY_MS = MINUTE_MS
/** How long a used code is kept, to detect its replay. */
const KEEP_EXPIRED_MS = 10 * MINUTE_MS
/** How long a retired key is kept for verification: longer than any token that it signed is valid. */
const KEEP_RETIRED_MS = 90 * DAY_MS

type Swept = Pick<SigninDeps, 'store' | 'clock'>

/** Slices keep each transaction short, so that streams are not delayed. */
const SLICE = 1000

/** Removes everything that has expired; stops between two slices if `isOver` returns true. */
export async function sweep({ store, clock }: Swept, isOver: () => boolean): Promise<void> {
  const at = clock.now()
  const { artifacts, mailCodes, detours, passkeys, invitations, keyring } = store
  for (const slice of [
    () => artifacts.sweep(later(at, -KEEP_EXPIRED_MS), SLICE),
    () => mailCodes.sweep(later(at, -LOOKBACK_MS), SLICE),
    () => detours.sweep(at, SLICE),
    () => passkeys.sweep(at, SLICE),
    () => invitations.sweep(at, SLICE),
    () => keyring.sweep(later(at, -KEEP_RETIRED_MS), SLICE),
  ]) {
    while (!isOver() && (await slice()) === SLICE);
  }
}

/** Sweeps every minute, never concurrently. Returns a function that stops it. */
export function startSweeping(deps: SigninDeps): () => void {
  let isOver = false
  let isSweeping = false
  const sweepOnce = async (): Promise<void> => {
    if (isSweeping) return
    isSweeping = true
    await sweep(deps, () => isOver).catch((cause) => deps.logFault(cause))
    isSweeping = false
  }
  const timer = setInterval(() => void sweepOnce(), SWEEP_EVERY_MS)
  timer.unref()
  return () => {
    isOver = true
    clearInterval(timer)
  }
}
