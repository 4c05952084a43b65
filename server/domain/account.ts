/** An account owns keys and one balance; spend is charged to it (contract §8). */
import type { Act, Amended } from './act.ts'
import type { Instant } from './clock.ts'
import { GatewayError } from './errors.ts'
import { type AccountId, newAccountId } from './id.ts'
import { type Limits, NO_LIMITS, renderAccountLimits } from './limits.ts'
import { NO_MONEY, renderUsd, type UsdNanos } from './money.ts'

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
  /** What all its keys together may do; those of end users are never set. */
  readonly limits: Limits
  /** Its keys are revoked, and it gets no further ones; its books stay. */
  readonly closedAt: Instant | null
}

/** A new account: without money and without keys. */
export const draftAccount = (name: string, at: Instant, limits: Partial<Limits> = {}): Account => ({
  id: newAccountId(at),
  name,
  createdAt: at,
  balance: NO_MONEY,
  memberDaily: null,
  limits: { ...NO_LIMITS, ...limits },
  closedAt: null,
})

export interface AccountAmendment {
  readonly name?: string
  readonly memberDaily?: UsdNanos | null
  readonly limits?: Partial<Limits>
}

/** The changeable fields of an account, as the log of acts shows them. */
export const accountFacts = ({ name, memberDaily, limits }: Account) => ({
  name,
  member_daily_usd: renderUsd(memberDaily),
  ...renderAccountLimits(limits),
})

export const accountNotFound = (id: AccountId): GatewayError =>
  new GatewayError('account_not_found', `there is no account ${id}`)

export const accountClosed = ({ name }: Pick<Account, 'name'>): GatewayError =>
  new GatewayError('account_closed', `account ${name} is closed`)

/** Port: where accounts are kept. */
export interface Accounts {
  /** Without money, which comes through the ledger. Durable before it resolves. @throws already_exists when the name is taken. */
  create(account: Account, act: Act): Promise<void>
  /**
   * From the next request. The act gains what changed, from what to what. Durable before it resolves.
   * @throws account_not_found, account_closed, already_exists when the name is taken
   */
  amend(id: AccountId, amendment: AccountAmendment, act: Act): Promise<Amended<Account>>
  /** Once its keys are all revoked; closing it again changes nothing. Durable before it resolves. @throws account_not_found, invalid_request where it has one that is not */
  close(id: AccountId, act: Act): Promise<Account>
  find(id: AccountId): Promise<Account | undefined>
  findByName(name: string): Promise<Account | undefined>
  /** Oldest first. */
  list(): Promise<readonly Account[]>
}
