/** Describes an admitted request in sentences: attempts, ending, cost. */
import type { OperatorAttemptRecord, OperatorReceiptRecord } from '../activity-record.ts'

export const storyOf = (receipt: OperatorReceiptRecord): readonly string[] => [
  ...(receipt.attempts.length === 0
    ? ['no provider was asked']
    : receipt.attempts.map((attempt, index) => describeAttempt(attempt, index + 1))),
  describeEnding(receipt),
  describeCost(receipt),
]

const OUTCOMES: Readonly<Record<string, string>> = {
  rejected: 'refused the request',
  unauthorized: 'did not accept our account with it',
  overloaded: 'was overloaded',
  failed: 'failed',
  timeout: 'did not answer in time',
  'no-image': 'answered without the image',
  answered: 'answered',
  left: 'was let go when the client left',
  stopped: 'was let go when the gateway stopped',
}

function describeAttempt(attempt: OperatorAttemptRecord, number: number): string {
  const { model, provider, credential, outcome, status, reason, ms } = attempt
  const by = credential === null ? '' : `, by its credential ${credential}`
  const what = `attempt ${number}: ${provider}${by}, asked for ${model}, ${OUTCOMES[outcome] ?? outcome}`
  const code = status === null ? '' : ` with status ${status}`
  return `${what}${code} after ${ms} ms${reason === null ? '' : `: ${reason}`}`
}

function describeEnding(receipt: OperatorReceiptRecord): string {
  const { ended_by, code, status, finish_reason, total_ms, first_byte_ms } = receipt
  const had = first_byte_ms === null ? 'before any content' : 'after content had come'
  switch (ended_by) {
    case 'completed':
      return `it ran to its end in ${total_ms} ms, finishing with "${finish_reason ?? 'none'}"`
    case 'client':
      return `the client hung up after ${total_ms} ms, ${had}`
    case 'upstream':
      return `it failed ${had}: ${status} ${code} after ${total_ms} ms`
    default:
      return `the gateway broke it off ${had}: ${status} ${code} after ${total_ms} ms`
  }
}

function describeCost(receipt: OperatorReceiptRecord): string {
  const { charged_at, cost_usd, cost_rub, usage_source, operator_cost_usd } = receipt
  const lost =
    operator_cost_usd === '0'
      ? ''
      : `; output of $${operator_cost_usd} at the model's price is charged to nobody`
  if (charged_at === null) return `nothing was charged${lost}`
  const by = usage_source === 'estimated' ? 'as we estimate' : 'as the provider counts'
  return `charged $${cost_usd} (${cost_rub} ₽) for what was produced, ${by}${lost}`
}
