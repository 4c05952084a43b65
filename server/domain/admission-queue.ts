/**
 * Where a request waits that does not fit beside what others hold: in order of arrival among those who wait for the same money,
 * until enough of the others have ended (contract §8). In memory: a request that waits has taken nothing. Each process has its
 * own line; who waits at another is judged again once a second.
 */
import {
  type Admissions,
  type Claim,
  type Refusal,
  type Repeated,
  type Verdict,
  whoseLimit,
} from './admission.ts'
import type { CancelSignal } from './cancel.ts'
import { type Stale, untilCurrent } from './catalogue.ts'
import type { Clock } from './clock.ts'
import type { AccountId } from './id.ts'
import type { Answers, Repetition } from './idempotency.ts'

/** Requests of one key that may wait at once. */
const MAX_WAITING = 64

/** How often those that wait are judged again without a hold's end: for a top-up, a changed limit, a new day. */
const JUDGE_AGAIN_MS = 1_000

export interface AdmissionQueueDeps {
  readonly clock: Clock
  readonly store: {
    readonly admissions: Pick<Admissions, 'admit' | 'judge'>
    readonly answers: Pick<Answers, 'find'>
  }
  /** How long a request waits at most; 0: not at all. */
  readonly waitMs: number
}

type Refused = Extract<Verdict, { admitted: false }>

const isToWait = (verdict: Verdict | Repeated): verdict is Refused =>
  !verdict.admitted && verdict.refusal?.code === 'spend_reserved'

/** Who asks to be admitted. */
export interface Claimant {
  /** Its claim by the clock and the catalogue of now: it pays by that of its admission (`priceOf` in `walk/attempt.ts`). */
  claimNow(): Claim
  /** The same by its key as it is now, for one that has waited: it may have another allow-list, bound or account. */
  claimAnew(): Promise<Claim>
}

/** No verdict yet: made of what has changed meanwhile, or to be given again when others have ended. */
type Undecided = Stale | Refused

/** One that waits. */
interface Waiter {
  readonly claimant: Claimant
  claim: Claim
  readonly sinceMs: number
  refused: Refused
  /** While its claim is judged, it does not leave: it may be admitted at this moment. */
  isJudged: boolean
  /** Why it leaves once it is judged. */
  leaving: (() => void) | null
  decided(verdict: Verdict | Stale | Repeated): void
  fail(thrown: unknown): void
}

/** Whether `claim` wants money for which `ahead` waits; who wants other money passes. */
function isBehind(claim: Claim, { claim: ahead, refused }: Waiter): boolean {
  const whose = whoseLimit(refused.refusal)
  if (whose === 'account') return true
  if (claim.keyId !== ahead.keyId) return false
  return whose === 'key' || claim.endUser === ahead.endUser
}

export class AdmissionQueue {
  private readonly deps: AdmissionQueueDeps
  private readonly lines = new Map<AccountId, Line>()

  constructor(deps: AdmissionQueueDeps) {
    this.deps = deps
  }

  /** Judges a claim now. @throws what `claimNow` and `admit` throw */
  ask(claimant: Claimant): Promise<Verdict | Stale | Repeated> {
    const claim = claimant.claimNow()
    const line = this.lines.size === 0 ? undefined : this.lines.get(claim.accountId)
    return line ? this.join(line, claim) : this.deps.store.admissions.admit(claim)
  }

  /** Whether `wait` has to follow. */
  isUndecided(verdict: Verdict | Stale | Repeated): verdict is Undecided {
    return verdict === 'stale' || (this.deps.waitMs > 0 && isToWait(verdict))
  }

  /** The verdict after one that is open: of another claim, or after waiting for money that others hold. @throws the signal's reason */
  async wait(
    claimant: Claimant,
    undecided: Undecided,
    signal: CancelSignal,
  ): Promise<Verdict | Repeated> {
    const verdict = undecided === 'stale' ? await untilCurrent(() => this.ask(claimant)) : undecided
    if (!this.isUndecided(verdict)) return verdict
    const claim = claimant.claimNow()
    const waited = await this.lineOf(claim.accountId).wait(claimant, claim, verdict, signal)
    return waited === 'stale' ? await this.wait(claimant, waited, signal) : waited
  }

  /** A hold of this account has ended. */
  released(accountId: AccountId): void {
    if (this.lines.size > 0) void this.lines.get(accountId)?.serve()
  }

  /** Nobody overtakes one that waits here for the same money. */
  private async join(line: Line, claim: Claim): Promise<Verdict | Stale | Repeated> {
    const { admissions, answers } = this.deps.store
    const found = claim.repeat && (await answers.find(claim.keyId, claim.repeat, claim.at))
    const judged = await admissions.judge(claim)
    const repetition = found ?? line.repetition(claim)
    if (repetition) return { admitted: false, refusal: null, repetition }
    if (judged === 'stale' || !(judged.admitted || isToWait(judged))) return judged
    const ahead = line.ahead(claim)
    if (ahead === null) return await admissions.admit(claim)
    return { ...judged, admitted: false, refusal: judged.admitted ? ahead : judged.refusal }
  }

  private lineOf(accountId: AccountId): Line {
    let line = this.lines.get(accountId)
    if (line === undefined) {
      line = new Line(this.deps, () => this.lines.delete(accountId))
      this.lines.set(accountId, line)
    }
    return line
  }
}

/** Those of one account that wait, in order of arrival. */
class Line {
  private readonly deps: AdmissionQueueDeps
  private readonly emptied: () => void
  private waiters: Waiter[] = []
  private isServing = false
  private isServedAgain = false
  private timer: ReturnType<typeof setInterval> | null = null

  constructor(deps: AdmissionQueueDeps, emptied: () => void) {
    this.deps = deps
    this.emptied = emptied
  }

  /** Stale where its key has been given to another account: it asks there. */
  wait(
    claimant: Claimant,
    claim: Claim,
    refused: Refused,
    signal: CancelSignal,
  ): Promise<Verdict | Stale | Repeated> {
    const ofKey = this.waiters.filter((waiter) => waiter.claim.keyId === claim.keyId)
    if (ofKey.length >= MAX_WAITING) {
      return Promise.resolve(this.giveUp(refused, ofKey[0]?.sinceMs))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Verdict | Stale | Repeated>()
    const leave = (how: () => void): void => {
      if (waiter.isJudged) {
        waiter.leaving ??= () => leave(how)
        return
      }
      clearTimeout(timeout)
      signal.removeEventListener('abort', hangUp)
      this.remove(waiter)
      how()
    }
    const waiter: Waiter = {
      claimant,
      claim,
      sinceMs: this.deps.clock.monotonicMs(),
      refused,
      isJudged: false,
      leaving: null,
      decided: (verdict) => leave(() => resolve(verdict)),
      fail: (thrown) => leave(() => reject(thrown)),
    }
    const hangUp = (): void => leave(() => reject(signal.reason))
    const timeout = setTimeout(
      () => leave(() => resolve(this.giveUp(waiter.refused, waiter.sinceMs))),
      this.deps.waitMs,
    )
    this.waiters.push(waiter)
    signal.addEventListener('abort', hangUp, { once: true })
    this.timer ??= setInterval(() => void this.serve(), JUDGE_AGAIN_MS)
    if (signal.aborted) hangUp()
    return promise
  }

  /** Of the name of one that waits: it runs, to its client. */
  repetition({ keyId, repeat }: Claim): Repetition | null {
    if (repeat === null) return null
    for (const { claim } of this.waiters) {
      if (claim.keyId !== keyId || claim.repeat?.key !== repeat.key) continue
      return { is: claim.repeat.digest === repeat.digest ? 'running' : 'other_body' }
    }
    return null
  }

  /** Why one that waits for the same money as `claim` waits; null where none does. */
  ahead(claim: Claim): Refusal | null {
    return this.waiters.find((waiter) => isBehind(claim, waiter))?.refused.refusal ?? null
  }

  /** Judges those that wait, the first first; who waits behind one that still has to is left alone. */
  async serve(): Promise<void> {
    this.isServedAgain = true
    if (this.isServing) return
    this.isServing = true
    while (this.isServedAgain) {
      this.isServedAgain = false
      const still: Waiter[] = []
      for (const waiter of [...this.waiters]) {
        if (!this.waiters.includes(waiter)) continue
        if (still.some((other) => isBehind(waiter.claim, other))) continue
        if (!(await this.judgeAgain(waiter))) still.push(waiter)
      }
    }
    this.isServing = false
  }

  /** Whether its waiting is over. */
  private async judgeAgain(waiter: Waiter): Promise<boolean> {
    let verdict: Verdict | Repeated | null
    waiter.isJudged = true
    try {
      verdict = await untilCurrent(async () => {
        const claim = await waiter.claimant.claimAnew()
        if (claim.accountId !== waiter.claim.accountId) return null
        waiter.claim = claim
        return await this.deps.store.admissions.admit(claim)
      })
    } catch (thrown) {
      waiter.isJudged = false
      waiter.fail(thrown)
      return true
    }
    waiter.isJudged = false
    if (verdict === null || !isToWait(verdict)) {
      // A client that left at this moment is admitted: its walk ends it, and pays nothing.
      waiter.decided(verdict ?? 'stale')
      return true
    }
    waiter.refused = verdict
    waiter.leaving?.()
    return false
  }

  /** As long as one has waited in vain, coming again sooner is of no use. */
  private giveUp({ refusal, grant, quota }: Refused, sinceMs: number | undefined): Refused {
    const { clock, waitMs } = this.deps
    const nowMs = clock.monotonicMs()
    const waitedMs = Math.min(waitMs, nowMs - (sinceMs ?? nowMs))
    const retryAfterSeconds = Math.max(1, Math.ceil(waitedMs / 1000))
    return {
      admitted: false,
      quota,
      grant: { ...grant, at: clock.now() },
      refusal: { ...refusal, retryAfterSeconds },
    }
  }

  private remove(waiter: Waiter): void {
    this.waiters = this.waiters.filter((one) => one !== waiter)
    if (this.waiters.length > 0) {
      void this.serve()
      return
    }
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    this.emptied()
  }
}
