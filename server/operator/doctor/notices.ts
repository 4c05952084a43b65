/** Checks that low-balance notices can be delivered. */
import type { Account } from '#domain/account.ts'
import { channelsOf, type MarkedThreshold, withThresholds } from '#domain/low-balance.ts'
import { renderUsd } from '#domain/money.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from '../deps.ts'
import { openAccounts } from '../find-account.ts'
import { type Finding, ok, warning } from './finding.ts'
import { rethrowTrouble, unreadable } from './unreadable.ts'

/** For each account with a threshold: an `ok`, or a finding per reason why its notices cannot be sent. */
export async function checkThresholds(deps: OperatorDeps): Promise<readonly Finding[]> {
  const all = await withThresholds(deps.store.thresholds, await openAccounts(deps))
  const findings = await Promise.all(all.map((one) => checkThreshold(deps, ...one)))
  const some = findings.flat()
  return some.length > 0 ? some : [ok('threshold', 'no low-balance threshold is set')]
}

async function checkThreshold(
  deps: OperatorDeps,
  { id, name }: Account,
  threshold: MarkedThreshold,
): Promise<readonly Finding[]> {
  const { delivery } = deps
  if (threshold.below === null) return []
  const channels = channelsOf(threshold)
  const findings = [
    ...(channels.length === 0
      ? [
          warning(
            'threshold',
            `account ${name} has a threshold, but no e-mail or webhook for its notice`,
            `gatewayctl thresholds set --account ${shellWord(name)} --email ops@example.org`,
          ),
        ]
      : []),
    ...(threshold.email !== null && !delivery.smtp
      ? [
          warning(
            'threshold',
            `account ${name} has an e-mail for notices, but no mail server is set (GATEWAY_SMTP_URL)`,
            'gatewayctl help environment',
          ),
        ]
      : []),
    ...((await isSecretReadable(deps, id))
      ? []
      : [
          await unreadable(
            deps,
            'threshold',
            `the webhook secret of account ${name}`,
            `gatewayctl thresholds set --account ${shellWord(name)} --rotate-secret`,
          ),
        ]),
    ...(await checkLastNotice(deps, id, name)),
  ]
  if (findings.length > 0) return findings
  const message = `account ${name}: below $${renderUsd(threshold.below)} notifies by ${channels.join(' and ')}`
  return [ok('threshold', message)]
}

/** A mail and a webhook. */
const MAX_CHANNELS = 2

/** By each channel of the latest notice, tests included. */
async function checkLastNotice(
  { store }: OperatorDeps,
  accountId: Account['id'],
  name: string,
): Promise<readonly Finding[]> {
  const latest = await store.notices.list({ accountId, limit: MAX_CHANNELS })
  const dead = latest.filter(
    ({ eventId, state }) => eventId === latest[0]?.eventId && state === 'dead',
  )
  return dead.map(({ eventId, channel }) =>
    warning(
      'threshold',
      `the last notice of account ${name} could not be delivered by ${channel}`,
      `gatewayctl deliveries show ${eventId}`,
    ),
  )
}

async function isSecretReadable({ store }: OperatorDeps, id: Account['id']): Promise<boolean> {
  try {
    await store.thresholds.webhookSecret(id)
    return true
  } catch (cause) {
    rethrowTrouble(cause)
    return false
  }
}
