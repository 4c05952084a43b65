/** Admission: a batch of claims is judged, and takes what it is granted, by one call. */
import type { Claim, Refusal, RefusalCode, Repeated, Verdict } from '#domain/admission.ts'
import type { Stale } from '#domain/catalogue.ts'
import { DAY_MS, type Instant, MINUTE_MS } from '#domain/clock.ts'
import type { EpochId } from '#domain/id.ts'
import { keyNotFound } from '#domain/key.ts'
import { limitNamed } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import { tokensFor } from '#domain/offer-cost.ts'
import {
  type QuotaReading,
  toReset,
  type WindowReading,
  type WindowReadings,
} from '#domain/window.ts'
import type { Sql } from '../engine/database.ts'
import { lost } from '../engine/errors.ts'

interface WindowColumns {
  readonly rpm: number | null
  readonly minute_used: number | null
  readonly minute_oldest: number
  readonly rpd: number | null
  readonly day_used: number | null
  readonly day_oldest: number
}

interface VerdictRow extends WindowColumns {
  readonly i: number
  /** Null where it is admitted. */
  readonly code:
    | RefusalCode
    | 'stale'
    | 'key_not_found'
    | 'fenced'
    | 'given_up'
    | 'running'
    | 'other_body'
    | 'kept'
    | null
  readonly lim: string
  readonly of_account: boolean | null
  readonly limit_value: number
  readonly used: number
  readonly resets_at: Instant | null
  readonly retry: number | null
  readonly held: number | null
  readonly requests: number
  readonly money: number | null
  readonly hold: number
  readonly answer: number | null
}

const ARGUMENTS = [
  'boolean',
  'bigint',
  'text',
  ...Array<string>(5).fill('text[]'),
  ...Array<string>(2).fill('bigint[]'),
  ...Array<string>(6).fill('text[]'),
  ...Array<string>(9).fill('bigint[]'),
]
const ADMIT = `SELECT * FROM admit(${ARGUMENTS.map((type) => `?::${type}`).join(', ')})`

/** More than any ceiling, and few enough that thirty-two times as much is an integer of 64 bits. */
const MOST_OUTPUT = 10n ** 17n

/** Who asks, at the moment in which the call is sent: it may have waited for the database. */
export interface Sender {
  /** By which a claim that has waited is told from one by a clock that was set back. */
  now(): Instant
  /** Of the node: where that was ended its processes claim nothing either, each of which has an epoch of its own. */
  epoch(): EpochId
}

/** A claim that names no version of the catalogue is of the one in force. */
export async function askAdmission(
  sql: Sql,
  claims: readonly Claim[],
  takes: boolean,
  { now, epoch }: Sender,
): Promise<readonly VerdictRow[]> {
  const offers = claims.flatMap((claim) => claim.offers)
  let first = 1
  const firsts = claims.map((claim) => {
    const at = first
    first += claim.offers.length
    return at
  })
  const rows = await sql.all<VerdictRow>(
    ADMIT,
    takes,
    now,
    epoch,
    claims.map(({ generationId }) => generationId),
    claims.map(({ requestId }) => requestId),
    claims.map(({ owner }) => owner.node),
    claims.map(({ owner }) => owner.epoch),
    claims.map(({ keyId }) => keyId),
    claims.map(({ at }) => at),
    claims.map(({ catalogue }) => catalogue),
    claims.map(({ model }) => model),
    claims.map(({ endUser }) => endUser),
    claims.map(({ surface }) => surface),
    claims.map(({ session }) => session),
    claims.map(({ repeat }) => repeat?.key ?? null),
    claims.map(({ repeat }) => repeat?.digest ?? null),
    firsts,
    claims.map((claim) => claim.offers.length),
    offers.map(({ promptTokens }) => promptTokens),
    offers.map(({ base }) => base),
    offers.map(({ perMillion }) => perMillion),
    offers.map(({ choices }) => choices),
    offers.map(({ full }) => full),
    offers.map(({ floor }) => floor),
    offers.map(({ fullOutput }) => (fullOutput > MOST_OUTPUT ? MOST_OUTPUT : fullOutput)),
  )
  return rows.sort((a, b) => a.i - b.i)
}

/** What a row tells; a number is the id of an answer that is kept. */
export function toVerdict(
  row: VerdictRow | undefined,
  { keyId, at, offers }: Claim,
): Verdict | Repeated | Stale | { readonly kept: number } {
  if (row === undefined) throw new Error('a claim was not judged')
  const { code } = row
  switch (code) {
    case 'stale':
    case 'fenced':
      return 'stale'
    case 'key_not_found':
      throw keyNotFound(keyId)
    case 'given_up':
      throw lost()
    case 'running':
    case 'other_body':
      return { admitted: false, refusal: null, repetition: { is: code } }
    case 'kept':
      return { kept: row.answer ?? 0 }
    default: {
      const quota = toQuota(row)
      const money = row.money === null ? null : (BigInt(row.money) as UsdNanos)
      const grant = { at, money, hold: BigInt(row.hold) as UsdNanos }
      return code === null
        ? { admitted: true, quota, grant }
        : { admitted: false, quota, grant, refusal: toRefusal(row, code, tokensFor(offers, money)) }
    }
  }
}

function toRefusal(row: VerdictRow, code: RefusalCode, tokens: number): Refusal {
  const { lim, of_account, limit_value, used, resets_at, retry, held, requests } = row
  const rest = { resetsAt: resets_at, retryAfterSeconds: retry }
  if (code === 'key_revoked') {
    return { code, limit: 'status', limitValue: 'active', used: lim, ...rest }
  }
  const isMoney = lim === 'balance_usd' || limitNamed(lim)?.unit === 'usd'
  const say = (value: number): string | number =>
    isMoney ? renderUsd(BigInt(value) as UsdNanos) : value
  return {
    code,
    limit: lim,
    ...(of_account && { of: 'account' as const }),
    limitValue: say(limit_value),
    used: say(used),
    ...(lim === 'tpm_limit' && { tokens: { needed: tokens, held: held ?? 0 } }),
    ...rest,
    ...(held !== null &&
      code === 'spend_reserved' && {
        held: { usd: renderUsd(BigInt(held) as UsdNanos), requests },
      }),
  }
}

const toReading = (
  limit: number | null,
  used: number | null,
  oldestMs: number,
  spanMs: number = MINUTE_MS,
): WindowReading | null =>
  limit === null
    ? null
    : {
        limit,
        remaining: Math.max(0, limit - (used ?? 0)),
        resetSeconds: toReset(oldestMs, spanMs),
      }

const toQuota = (row: WindowColumns): QuotaReading => ({
  minute: toReading(row.rpm, row.minute_used, row.minute_oldest),
  day: toReading(row.rpd, row.day_used, row.day_oldest, DAY_MS),
})

/** With the tokens, as lists show them. */
export interface ReadingColumns extends WindowColumns {
  readonly tpm: number | null
  readonly tokens_used: number | null
  readonly tokens_oldest: number
}

export const toReadings = (row: ReadingColumns): WindowReadings => ({
  ...toQuota(row),
  tokens: toReading(row.tpm, row.tokens_used, row.tokens_oldest),
})
