/** What functions.sql promises, over the model's tables; its rule is the domain's own `judgeClaim`. */
import { type Claim, judgeClaim, type Refusal, type Standing, type Use } from '#domain/admission.ts'
import { type Day, dayOf, type Instant, monthStart } from '#domain/clock.ts'
import { limitNamed } from '#domain/limits.ts'
import { readUsd, type UsdNanos } from '#domain/money.ts'
import { tokensFor } from '#domain/offer-cost.ts'
import { type Hold, type Line, rowOf, type Sums, type Tables } from './tables.ts'
import { type Counted, type Moment, placeOf, type Windows, windowsOf } from './windows.ts'

export type Row = Record<string, unknown>

/** A claim as the statement brings it: a version that is null is of the catalogue in force. */
export type AskedClaim = Omit<Claim, 'catalogue' | 'accountId'> & {
  readonly catalogue: number | null
}

/** The moment in which the statement was sent, and the epoch of the node that sent it. */
export interface Sent {
  readonly now: number
  readonly epoch: string
}

/** A verdict for each claim, in the order of their accounts and keys. */
export function admit(
  tables: Tables,
  takes: boolean,
  sender: Sent,
  claims: readonly AskedClaim[],
): readonly Row[] {
  const order = claims.map((claim, nth) => {
    const account = tables.keys.get(claim.keyId)?.accountId ?? ''
    return { claim, i: nth + 1, place: `${account} ${claim.keyId}` }
  })
  order.sort((one, other) =>
    one.place < other.place ? -1 : one.place > other.place ? 1 : one.i - other.i,
  )
  return order.map(({ claim, i }) => ({ ...NO_ROW, i, ...admitOne(tables, takes, sender, claim) }))
}

const NO_ROW: Row = Object.fromEntries(
  [
    ...['code', 'lim', 'limit_value', 'used', 'resets_at', 'retry', 'held', 'requests', 'money'],
    ...['hold', 'rpm', 'minute_used', 'rpd', 'day_used', 'answer'],
  ].map((name) => [name, null]),
)

function admitOne(tables: Tables, takes: boolean, sender: Sent, claim: AskedClaim): Row {
  const { keyId, at, owner, generationId } = claim
  const nothing = { of_account: false, minute_oldest: 0, day_oldest: 0 }
  const say = (code: string, answer: number | null = null): Row => ({ ...nothing, code, answer })
  if (claim.catalogue !== null && claim.catalogue !== tables.catalogueVersion) return say('stale')
  const key = tables.keys.get(keyId)
  if (key === undefined) return say('key_not_found')
  if (tables.givenUp.has(generationId)) return say('given_up')
  const repetition = takes ? repeated(tables, claim) : null
  if (repetition !== null) return say(repetition.code, repetition.answer)
  if ([owner.epoch, sender.epoch].some((one) => tables.endedEpochs.has(one))) return say('fenced')

  const account = key.accountId
  const line = rowOf(tables.lines, account)
  const waitedMs = sender.now - at
  const seen = waitedMs >= 2_000 && waitedMs <= 15_000 ? sender.now : at
  const found = placeOf(seen, line)
  const isBack = seen < line.newestAt - 5_000
  const steppedTo = isBack ? Math.max(found.place, line.place) + 86_400_000 : line.steppedTo
  const moment = { at, place: found.place, isStepped: found.place < steppedTo }
  const { standing, windows } = standingOf(tables, claim, account, moment)
  const asked = { ...claim, accountId: account, catalogue: tables.catalogueVersion }
  const { grant, refusal } = judgeClaim(asked, standing, null)
  const row: Row = {
    ...nothing,
    ...quotaOf(key.limits, windows),
    money: grant.money === null ? null : Number(grant.money),
    hold: Number(grant.hold),
    ...(refusal && toColumns(refusal)),
  }
  if (takes) {
    const newestAt = isBack ? seen : line.newestAt
    tables.lines.set(account, { ...line, ...found, place: line.place, steppedTo, newestAt })
  }
  if (refusal !== null || !takes) return row
  const place = Math.max(line.place, found.place)
  tables.lines.set(account, {
    ...found,
    place,
    steppedTo,
    newestAt: Math.max(isBack ? seen : line.newestAt, seen),
  })
  tables.slots.push({ generation: generationId, key: keyId, account, at, place })
  take(
    tables,
    claim,
    account,
    Number(grant.hold),
    Math.max(1, tokensFor(claim.offers, grant.money)),
  )
  return { ...row, ...taken(row, place - found.place) }
}

/** The windows with the slot that was just taken. */
const taken = (row: Row, placeAhead: number): Row =>
  Object.fromEntries(
    (
      [
        ['minute', 60_000],
        ['day', 86_400_000],
      ] as const
    ).flatMap(([name, spanMs]) => {
      const used = row[`${name}_used`] as number | null
      if (used === null) return []
      const oldest = used === 0 ? spanMs + placeAhead : row[`${name}_oldest`]
      return [
        [`${name}_used`, used + 1],
        [`${name}_oldest`, oldest],
      ]
    }),
  )

function repeated(
  tables: Tables,
  { keyId, repeat, at }: AskedClaim,
): { readonly code: string; readonly answer: number | null } | null {
  if (repeat === null) return null
  for (const { key, repeat: name, digest } of tables.holds.values()) {
    if (key !== keyId || name !== repeat.key) continue
    return { code: digest === repeat.digest ? 'running' : 'other_body', answer: null }
  }
  const kept = findKept(tables, keyId, repeat.key, at)
  if (kept === null) return null
  return { code: kept.digest === repeat.digest ? 'kept' : 'other_body', answer: kept.id }
}

export function findKept(tables: Tables, key: string, name: string, at: number) {
  for (const answer of tables.answers.values()) {
    const isAsked = answer.key === key && answer.name === name && answer.isWhole
    if (isAsked && answer.createdAt > at - 86_400_000 && answer.pieces.has(0)) return answer
  }
  return null
}

function standingOf(
  tables: Tables,
  { keyId, at }: AskedClaim,
  accountId: string,
  moment: Moment,
): { readonly standing: Standing; readonly windows: Windows } {
  const day = dayOf(at)
  const key = rowOf(tables.keys, keyId)
  const account = rowOf(tables.accounts, accountId)
  const ofKey = (one: { readonly key: string }): boolean => one.key === keyId
  const ofAccount = (one: { readonly account: string }): boolean => one.account === accountId
  const windows = windowsOf(tables, tables.slots.filter(ofKey), key.limits, moment)
  const shared = windowsOf(tables, tables.slots.filter(ofAccount), account.limits, moment)
  const sums = rowOf(tables.accountSums, accountId)
  const { limits } = account
  const isLimited = Object.values(limits).some((limit) => limit !== null)
  return {
    windows,
    standing: {
      key,
      today: day,
      inProgress: rowOf(tables.keySums, keyId).inProgress,
      ...windows,
      ...spendingOf(tables, ofKey, day),
      account: {
        balance: usd(rowOf(tables.balances, accountId)),
        held: usd(sums.held),
        inProgress: sums.inProgress,
        limits,
        use: isLimited ? { ...shared, ...spendingOf(tables, ofAccount, day) } : null,
      },
    },
  }
}

const usd = (nanos: number): UsdNanos => BigInt(nanos) as UsdNanos

function spendingOf(
  tables: Tables,
  isOf: (one: { readonly key: string; readonly account: string }) => boolean,
  today: Day,
): Pick<Use, 'daySpend' | 'monthSpend'> {
  const month = monthStart(today)
  const add = (inMonth: boolean) => {
    const counts = (day: number): boolean =>
      inMonth ? monthStart(day as Day) === month : day === today
    let [spent, held] = [0, 0]
    for (const one of tables.ledger.values()) if (isOf(one) && counts(one.day)) spent += one.amount
    for (const one of tables.holds.values()) if (isOf(one) && counts(one.day)) held += one.amount
    return { spent: usd(spent), held: usd(held) }
  }
  return { daySpend: add(false), monthSpend: add(true) }
}

const quotaOf = (
  { rpm, rpd }: { readonly rpm: number | null; readonly rpd: number | null },
  { minute, day }: Readonly<Record<'minute' | 'day', Counted | null>>,
): Row => ({
  rpm,
  rpd,
  minute_used: minute?.used ?? null,
  minute_oldest: minute?.oldestMs ?? 0,
  day_used: day?.used ?? null,
  day_oldest: day?.oldestMs ?? 0,
})

function toColumns(refusal: Refusal): Row {
  const { limit, limitValue, used, held, tokens } = refusal
  const isMoney = limit === 'balance_usd' || limitNamed(limit)?.unit === 'usd'
  const number = (value: string | number): number =>
    isMoney ? nanosOf(String(value)) : Number(value)
  return {
    code: refusal.code,
    lim: limit,
    of_account: refusal.of === 'account',
    limit_value: number(limitValue),
    used: number(used),
    resets_at: refusal.resetsAt,
    retry: refusal.retryAfterSeconds,
    held: held ? nanosOf(held.usd) : (tokens?.held ?? null),
    requests: held?.requests ?? null,
  }
}

const nanosOf = (text: string): number =>
  text.startsWith('-') ? -nanosOf(text.slice(1)) : Number(readUsd(text))

function take(
  tables: Tables,
  claim: AskedClaim,
  account: string,
  amount: number,
  tokens: number,
): void {
  const { generationId, requestId, owner, keyId, model, endUser, surface, session, at } = claim
  if (tables.holds.has(generationId)) throw new Error(`${generationId} is held already`)
  tables.holds.set(generationId, {
    generation: generationId,
    request: requestId,
    ...owner,
    ...{ key: keyId, account, model, endUser, surface, session, amount, tokens },
    ...{ admittedAt: at, day: dayOf(at as Instant), endedAt: null },
    repeat: claim.repeat?.key ?? null,
    digest: claim.repeat?.digest ?? null,
  })
  for (const sums of sumsOf(tables, keyId, account)) {
    sums.held += amount
    sums.inProgress++
  }
  const most = rowOf(tables.keys, keyId).limits.concurrency
  const holds = [...tables.holds.values()]
  const open = holds.filter(({ key, endedAt }) => key === keyId && endedAt === null).length
  if (most !== null && open > most)
    tables.overruns.add(`key ${keyId} ran ${open} at once, of ${most}`)
}

const sumsOf = (tables: Tables, key: string, account: string): readonly Sums[] => [
  rowOf(tables.keySums, key),
  rowOf(tables.accountSums, account),
]

export interface AskedSettlement {
  readonly generation: string
  readonly amount: number | null
  readonly answer: number | null
  readonly line: Line
}

/** Those that it has resolved. */
export function settle(tables: Tables, batch: readonly AskedSettlement[]): readonly Row[] {
  const done: Row[] = []
  for (const { generation, amount, answer, line } of batch) {
    const hold = tables.holds.get(generation)
    if (hold === undefined) continue
    const { key, account, day, endedAt } = hold
    const isLate = endedAt !== null
    tables.holds.delete(generation)
    if (amount !== null) {
      if (tables.ledger.has(generation)) throw new Error(`the ledger has a charge of ${generation}`)
      tables.ledger.set(generation, { generation, account, key, day, amount })
      tables.balances.set(account, rowOf(tables.balances, account) - amount)
    }
    for (const sums of sumsOf(tables, key, account)) {
      sums.held -= hold.amount
      if (!isLate) sums.inProgress--
    }
    if (isLate || !tables.activity.has(generation)) tables.activity.set(generation, line)
    if (answer !== null) show(tables, answer)
    done.push({ gen: generation, passed: false })
  }
  return done
}

/** None that was found before by its name. */
function show(tables: Tables, id: number): void {
  const shown = tables.answers.get(id)
  if (shown === undefined) return
  for (const other of tables.answers.values()) {
    if (other.key === shown.key && other.name === shown.name) other.isWhole = other.id === id
  }
}

type Ending = 'silent' | 'released' | 'void'

function endHolds(tables: Tables, ids: readonly string[], how: Ending): void {
  for (const id of ids) {
    const hold = tables.holds.get(id)
    if (hold !== undefined) endHold(tables, hold, how)
  }
}

function endHold(tables: Tables, hold: Hold, how: Ending): void {
  const { generation, key, account } = hold
  if (hold.endedAt === null) {
    for (const sums of sumsOf(tables, key, account)) sums.inProgress--
    if (hold.repeat !== null) tables.endedNames.add(hold.repeat)
    hold.endedAt = hold.admittedAt
    hold.repeat = null
    hold.digest = null
    if (!tables.activity.has(generation)) tables.activity.set(generation, lineOfEnded(hold))
  }
  if (how === 'silent') return
  for (const sums of sumsOf(tables, key, account)) sums.held -= hold.amount
  if (how === 'released') hold.amount = 0
  else tables.holds.delete(generation)
}

const lineOfEnded = ({ generation, key, account }: Hold): Line => ({
  ...Object.fromEntries(COUNTS.map((column) => [column, 0])),
  generation_id: generation,
  key_id: key,
  account_id: account,
  ended_by: 'gateway',
  code: 'internal_error',
  cost_nanos: 0,
})

const COUNTS = [
  ...['input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'cache_write_1h_tokens'],
  ...['image_input_tokens', 'output_tokens', 'image_output_tokens'],
]

export function endEpochs(
  tables: Tables,
  epochs: readonly string[],
  nodes: readonly string[],
  how: Ending,
): void {
  for (const epoch of epochs) tables.endedEpochs.add(epoch)
  const ids = [...tables.holds.values()]
    .filter(({ epoch, node }) => epochs.includes(epoch) || nodes.includes(node))
    .map(({ generation }) => generation)
  endHolds(tables, ids, how)
}

export function giveUp(tables: Tables, ids: readonly string[], at: number): void {
  for (const id of ids) if (!tables.givenUp.has(id)) tables.givenUp.set(id, at)
  endHolds(tables, ids, 'void')
}

/** `now`: by the clock of the database. Answers the epochs that it has ended. */
export function endSilent(
  tables: Tables,
  own: string,
  now: number,
  silenceMs: number,
): readonly Row[] {
  const rows = [...tables.nodes]
  const mine = rows.find(([, { epoch }]) => epoch === own)
  if (mine === undefined || mine[1].beatingSince >= now - silenceMs) return []
  const silent = rows.filter(
    ([, { beatAt, epoch }]) => beatAt < now - silenceMs && !tables.endedEpochs.has(epoch),
  )
  if (silent.length === 0) return []
  const epochs = silent.map(([, { epoch }]) => epoch)
  endEpochs(
    tables,
    epochs,
    silent.map(([name]) => name),
    'silent',
  )
  return epochs.map((epoch) => ({ epoch }))
}
