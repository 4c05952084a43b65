/** Lists accounts; in a file of its own, without the schema library, because lists say whose they are and load quickly. */
import type { Account } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { type AccountLimitsRecord, renderAccountLimits } from '#domain/limits.ts'
import { renderUsd } from '#domain/money.ts'
import { invalidInput, type Verb } from './verb.ts'

export interface AccountRecord extends AccountLimitsRecord {
  readonly id: string
  readonly name: string
  readonly balance_usd: string
  readonly created_at: string
  /** Null while it is open. */
  readonly closed_at: string | null
}

export const renderAccount = ({
  id,
  name,
  balance,
  createdAt,
  limits,
  closedAt,
}: Account): AccountRecord => ({
  id,
  name,
  balance_usd: renderUsd(balance),
  created_at: renderInstant(createdAt),
  closed_at: renderInstant(closedAt),
  ...renderAccountLimits(limits),
})

type NoInput = Readonly<Record<string, never>>

/** Oldest first. */
export const listAccounts: Verb<NoInput, NoInput, readonly AccountRecord[]> = {
  read: readNoInput,
  run: async ({ store }) => (await store.accounts.list()).map(renderAccount),
}

function readNoInput(untrusted: unknown): NoInput {
  if (typeof untrusted !== 'object' || untrusted === null || Array.isArray(untrusted)) {
    throw invalidInput('', 'must be an object')
  }
  const [unknown] = Object.keys(untrusted)
  if (unknown !== undefined) throw invalidInput('', `there is no field "${unknown}"`)
  return untrusted as NoInput
}
