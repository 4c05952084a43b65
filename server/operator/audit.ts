/** The audit verb: recomputes all sums from the ledger and reports every difference with a message. */
import * as z from 'zod/mini'
import type { AuditFinding } from '#domain/audit.ts'
import { type Day, renderDay, renderInstant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { dollars, renderUsd, subtractUsd, type UsdNanos } from '#domain/money.ts'
import type { OperatorDeps } from './deps.ts'
import { verb } from './verb.ts'

export interface FindingRecord {
  readonly what: string
  /** The id of an account, a key or a generation. */
  readonly id: string
  /** The UTC day; for a month its first day. */
  readonly day: string | null
  readonly user: string | null
  readonly kept_usd: string | null
  readonly ledger_usd: string | null
  /** kept_usd minus ledger_usd. */
  readonly difference_usd: string | null
  readonly message: string
}

export interface AuditRecord {
  readonly clean: boolean
  /** When it was asked for. */
  readonly at: string
  readonly entries: number
  readonly accounts: number
  readonly key_days: number
  readonly end_user_days: number
  readonly open_holds: number
  /** The first thousand. */
  readonly findings: readonly FindingRecord[]
  readonly found: number
  /** Charges above what was held, as far as the log goes back: a provider counted more than it was bound to. No difference. */
  readonly beyond_hold: number
  /** The latest ten. */
  readonly latest_beyond_hold: readonly BeyondHoldRecord[]
}

export interface BeyondHoldRecord {
  readonly id: string
  readonly cost_usd: string
  readonly held_usd: string
}

/** @throws store_unavailable */
export const runAudit = verb(z.strictObject({}), async (deps): Promise<AuditRecord> => {
  const at = deps.clock.now()
  const audit = await deps.store.audit()
  const nameOf = createNameLookup(
    deps,
    new Map(audit.balances.map(({ accountId, accountName }) => [accountId, accountName])),
  )
  const findings: FindingRecord[] = []
  for (const finding of audit.findings) {
    findings.push(render(finding, await nameOf(finding.subject)))
  }
  return {
    clean: audit.found === 0,
    at: renderInstant(at),
    entries: audit.entries,
    accounts: audit.balances.length,
    key_days: audit.keyDays,
    end_user_days: audit.endUserDays,
    open_holds: audit.openHolds,
    findings,
    found: audit.found,
    beyond_hold: audit.beyondHold,
    latest_beyond_hold: audit.latestBeyondHold.map(({ generationId, cost, hold }) => ({
      id: generationId,
      cost_usd: renderUsd(cost),
      held_usd: renderUsd(hold),
    })),
  }
})

/** "key worker", "account default"; the id when there is no name. */
function createNameLookup({ store }: OperatorDeps, accounts: ReadonlyMap<string, string>) {
  const keys = new Map<string, string>()
  return async (id: string): Promise<string> => {
    if (id.startsWith('acct_')) return `account ${accounts.get(id) ?? id}`
    if (!id.startsWith('key_')) return id
    const known = keys.get(id) ?? (await store.keys.find(id as KeyId))?.name ?? id
    keys.set(id, known)
    return `key ${known}`
  }
}

export function render(finding: AuditFinding, name: string): FindingRecord {
  const { what, subject: id } = finding
  if (what === 'engine') {
    const { engine, sum } = finding
    const amounts = sum === null ? NO_AMOUNTS : toAmounts(sum)
    const day = sum === null || sum.day === null ? null : renderDay(sum.day)
    return { what: engine, id, day, user: null, ...amounts, message: `${name}: ${finding.message}` }
  }
  if (what === 'hold') {
    const message = `the hold of ${id} is recorded, but it was charged`
    return { what, id, day: null, user: null, ...NO_AMOUNTS, message }
  }
  const day = finding.day === null ? null : renderDay(finding.day)
  const known = { what, id, day, user: finding.endUser }
  if (what === 'requests') {
    const { requests, charges } = finding
    const message = `${place(finding, name)}: ${requests} requests counted, but ${charges} were charged`
    return { ...known, ...NO_AMOUNTS, message }
  }
  const amounts = toAmounts(finding)
  const { kept_usd: kept, ledger_usd: ledger, difference_usd: difference } = amounts
  const recorded =
    what === 'balance' ? `the balance is ${dollars(kept)}` : `${dollars(kept)} is recorded`
  const beside = what === 'moved_day' ? ' of keys that were moved' : ''
  return {
    ...known,
    ...amounts,
    message: `${place(finding, name)}: ${recorded}${beside}, but the ledger adds up to ${dollars(ledger)} (difference ${dollars(difference)})`,
  }
}

const NO_AMOUNTS = { kept_usd: null, ledger_usd: null, difference_usd: null }

const toAmounts = ({ kept, ledger }: { readonly kept: UsdNanos; readonly ledger: UsdNanos }) => ({
  kept_usd: renderUsd(kept),
  ledger_usd: renderUsd(ledger),
  difference_usd: renderUsd(subtractUsd(kept, ledger)),
})

/** "end user ann of key worker on 2026-08-23". */
function place(
  { day, endUser }: { readonly day: Day | null; readonly endUser: string | null },
  name: string,
): string {
  const when = day === null ? '' : ` on ${renderDay(day)}`
  if (endUser === null) return `${name}${when}`
  const who = endUser === '' ? 'the end users counted together' : `end user ${endUser}`
  return `${who} of ${name}${when}`
}
