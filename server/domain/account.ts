/** An account owns keys and one balance; spend is charged to it (contract §8). */
import type { Act, Amended } from './act.ts'
import type { Instant } from './clock.ts'
import type { AccountId } from './id.ts'
import type { UsdNanos } from './money.ts'

export const DEFAULT_ACCOUNT_NAME = 'default'

/** Five dollars: enough to try, too little to be missed. */
export const MEMBER_DAILY = 5_000_000_000n as UsdNanos

export interface Account {
  readonly id: AccountId
  /** Unique on the appliance. */
  readonly name: string
  readonly createdAt: Instant
  /** The settled balance, Σ of its ledger entries; may go below zero by one request. */
  readonly balance: UsdNanos
  /** What each key that a member makes may spend in a day at most; null is `MEMBER_DAILY`. */
  readonly memberDaily: UsdNanos | null
}

/** Port: where accounts are kept. */
export interface Accounts {
  /** Durable before it resolves. @throws already_exists when the name is taken. */
  create(account: Account, act: Act): Promise<void>
  /** Only the name changes, and the act gains both. Durable before it resolves. @throws account_not_found, already_exists when the name is taken */
  rename(id: AccountId, name: string, act: Act): Promise<Amended<Account>>
  /** The act gains what changed. Durable before it resolves. @throws account_not_found */
  allow(id: AccountId, memberDaily: UsdNanos | null, act: Act): Promise<Amended<Account>>
  find(id: AccountId): Promise<Account | undefined>
  findByName(name: string): Promise<Account | undefined>
  /** Oldest first. */
  list(): Promise<readonly Account[]>
}
