/** What a member may let a key of their own spend in a day: at most what the account allows its members. */
import { type Account, MEMBER_DAILY } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Limits } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Actor } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'

export const allowanceOf = ({ memberDaily }: Pick<Account, 'memberDaily'>): UsdNanos =>
  memberDaily ?? MEMBER_DAILY

/** The same of the actor's account: whoever was an owner may have made keys that a member may not. @throws invalid_request */
export async function requireAllowed(
  deps: OperatorDeps,
  limits: Pick<Limits, 'dailySpend'>,
): Promise<void> {
  const { actor } = deps
  if (actor?.role === 'member') {
    requireAllowance(actor, await findAccount(deps, actor.accountId), limits)
  }
}

/** @throws invalid_request where a member's key would have no daily ceiling, or a higher one */
export function requireAllowance(
  actor: Actor | undefined,
  account: Account,
  { dailySpend }: Partial<Pick<Limits, 'dailySpend'>>,
): void {
  const most = allowanceOf(account)
  if (actor?.role !== 'member' || (dailySpend != null && dailySpend <= most)) return
  const [amount, name] = [renderUsd(most), account.name]
  throw new GatewayError(
    'invalid_request',
    `daily_spend_limit_usd: a key of a member of ${name} has a daily ceiling of at most $${amount}; an owner of ${name} can make one with more`,
    {
      param: 'daily_spend_limit_usd',
      metadata: { limit: 'member_daily_usd', limit_value: amount },
    },
  )
}
