/** Checks which limits refuse requests now: those of accounts each, those of keys together. */
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from '../deps.ts'
import { openAccounts } from '../find-account.ts'
import { limitText } from '../limit-warnings.ts'
import { readLimits } from '../read-limits.ts'
import type { WarningRecord } from '../snapshot/record.ts'
import { type Finding, warning } from './finding.ts'

const MAX_NAMED = 4

export async function checkLimits(deps: OperatorDeps): Promise<readonly Finding[]> {
  const open = await openAccounts(deps)
  const full = (await readLimits(deps, open)).filter(({ level }) => level === 100)
  const [keys = [], accounts = []] = [true, false].map((isOfKey) =>
    full.filter(({ key_id }) => (key_id !== null) === isOfKey),
  )
  return [...accounts.map(ofAccount), ...ofKeys(keys, open.length > 1)]
}

const FLAGS = {
  rpm: '--rpm',
  rpd: '--rpd',
  tpm: '--tpm',
  concurrency: '--concurrency',
  day: '--daily-usd',
  month: '--monthly-usd',
} as const

const ofAccount = (one: WarningRecord): Finding =>
  warning(
    'limits',
    limitText(one).text,
    `gatewayctl accounts set-limits ${shellWord(one.account)} ${FLAGS[one.what]} N    # it is ${one.limit}`,
  )

/** Where there are several accounts, each key with its own. */
function ofKeys(full: readonly WarningRecord[], isOfSeveral: boolean): readonly Finding[] {
  const [first] = full
  if (first === undefined) return []
  const of = ({ account }: WarningRecord) => (isOfSeveral ? ` (account ${account})` : '')
  const named = full.slice(0, MAX_NAMED).map((one) => `key ${limitText(one).text}${of(one)}`)
  const more = full.length > MAX_NAMED ? `, and ${full.length - MAX_NAMED} more` : ''
  const next = `gatewayctl limits set ${first.key_id} ${FLAGS[first.what]} N    # it is ${first.limit}${of(first)}`
  return [warning('limits', `${named.join(', ')}${more}`, next)]
}
