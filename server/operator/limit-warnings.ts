/** Limits of keys, and of accounts themselves, that are all used or soon will be: what `status`, `doctor` and the dashboard name. */
import type { Account } from '#domain/account.ts'
import type { KeySpending } from '#domain/admission.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { renderUsd } from '#domain/money.ts'
import { judgePace } from '#domain/snapshot/pace.ts'
import type { OperatorDeps } from './deps.ts'
import { readGauges } from './snapshot/gauges.ts'
import { readUse } from './snapshot/money.ts'
import type { GaugesRecord, WarningRecord } from './snapshot/record.ts'

type LimitWarning = Omit<WarningRecord, 'key_id' | 'key_name' | 'account'>
type CountGauges = Pick<GaugesRecord, 'minute' | 'day' | 'tokens' | 'concurrency'>
type Spent = Pick<KeySpending, 'spendDay' | 'spendMonth'>

/** Of the limits of the account itself, as they are now; one that is closed is asked for nothing. */
export async function accountWarnings(
  deps: OperatorDeps,
  known: Account,
): Promise<readonly WarningRecord[]> {
  const now = deps.clock.now()
  const account = (await deps.store.accounts.find(known.id)) ?? known
  const use = account.closedAt === null ? await readUse(deps, account, now) : null
  if (use === null) return []
  const { name, limits } = account
  const of = { key_id: null, key_name: null, account: name }
  const gauges = readGauges(limits, use, null, now)
  return warningsOf(limits, gauges, use, now).map((warning) => ({ ...of, ...warning }))
}

/** Null for gauges: of its ceilings alone. */
export function keyWarnings(
  { id, name, limits }: ApiKey,
  account: Pick<Account, 'name'>,
  spent: Spent,
  gauges: CountGauges | null,
  now: Instant,
): readonly WarningRecord[] {
  const of = { key_id: id, key_name: name, account: account.name }
  return warningsOf(limits, gauges, spent, now).map((warning) => ({ ...of, ...warning }))
}

const warningsOf = (
  limits: Limits,
  gauges: CountGauges | null,
  spent: Spent,
  now: Instant,
): readonly LimitWarning[] => [
  ...(gauges === null ? [] : countWarnings(gauges)),
  ...paceWarnings(limits, spent, now),
]

/** Limits but for spend that are all used. */
function countWarnings({ minute, day, tokens, concurrency }: CountGauges): readonly LimitWarning[] {
  const counts = [
    ['rpm', minute],
    ['rpd', day],
    ['tpm', tokens],
    ['concurrency', concurrency],
  ] as const
  return counts
    .filter(([, gauge]) => gauge.level === 'full')
    .map(
      ([what, { used, limit }]): LimitWarning => ({
        what,
        level: 100,
        used: String(used),
        limit: String(limit),
        reached_at: null,
        resets_at: null,
      }),
    )
}

/** Spend limits that are half used too early, nearly reached or reached. */
function paceWarnings(
  { dailySpend, monthlySpend }: Limits,
  { spendDay, spendMonth }: Spent,
  now: Instant,
): readonly LimitWarning[] {
  const judged = [
    judgePace('day', spendDay, dailySpend, now),
    judgePace('month', spendMonth, monthlySpend, now),
  ]
  return judged.flatMap((warning) =>
    warning === null
      ? []
      : [
          {
            what: warning.period,
            level: warning.level,
            used: renderUsd(warning.spent),
            limit: renderUsd(warning.ceiling),
            reached_at: renderInstant(warning.reachedAt),
            resets_at: renderInstant(warning.resetsAt),
          },
        ],
  )
}

const LIMITS = {
  rpm: 'RPM limit',
  rpd: 'RPD limit',
  tpm: 'TPM limit',
  concurrency: 'concurrency limit',
  day: 'daily ceiling',
  month: 'monthly ceiling',
} as const

/** Whether requests are refused until the period ends, and the words up to its pace. */
export function limitText({ key_name, account, what, level, used, limit }: WarningRecord): {
  readonly isOver: boolean
  readonly text: string
} {
  const who = key_name ?? `account ${account}`
  if (what !== 'day' && what !== 'month') {
    return { isOver: false, text: `${who} is at its ${LIMITS[what]} of ${limit}` }
  }
  const ceiling = `${LIMITS[what]} of $${limit}`
  return level === 100
    ? { isOver: true, text: `${who} reached its ${ceiling}` }
    : { isOver: false, text: `${who} spent $${used} of its ${ceiling}` }
}
