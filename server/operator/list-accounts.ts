/** Lists accounts; in a file of its own, without the schema library, because lists say whose they are and load quickly. */
import type { Account } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { renderUsd } from '#domain/money.ts'
import { invalidInput, type Verb } from './verb.ts'

export interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly balance_usd: string
  readonly created_at: string
}

export const renderAccount = ({ id, name, balance, createdAt }: Account): AccountRecord => ({
  id,
  name,
  balance_usd: renderUsd(balance),
  created_at: renderInstant(createdAt),
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
