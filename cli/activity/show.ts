/** `gatewayctl activity show`: the receipt of one request, with details that the key's holder does not see. */
import { dollars, readPrice, renderPerMillion } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'
import { spanOf } from './span.ts'

type Receipt = VerbRecord<'activity.show'>
type Field = readonly [name: string, value: string | number | null]

export const mount: Mount = (activity) =>
  activity
    .command('show')
    .description('show the receipt of a request: usage, cost, providers tried, outcome')
    .argument('<id>', 'gen-…, its end as lists show it, or the request id')
    .action(
      action(async (context, id: string) => {
        const receipt = await call(context, 'activity.show', { ...context.accountInput, id })
        printRecord(context, receipt, receipt.id, [
          ...factsOf(receipt),
          ...receipt.lines.map((line) => lineOf(receipt, line)),
          ...moneyOf(receipt),
          ...timesOf(receipt),
          ...receipt.attempts.map(attemptOf),
        ])
      }),
    )

const factsOf = (receipt: Receipt): readonly Field[] => [
  ['generation', receipt.id],
  ['request', receipt.request_id],
  ['at', receipt.created_at],
  ['key', `${receipt.key_name} (${receipt.key_id})`],
  ['user', receipt.user],
  ['surface', receipt.surface],
  ['session', receipt.session],
  ...(receipt.node === null ? [] : [['node', receipt.node] as const]),
  ['model', receipt.model],
  ['provider', receipt.provider],
  ['status', receipt.code === null ? receipt.status : `${receipt.status} ${receipt.code}`],
  ['ended by', receipt.ended_by],
  ['finish', receipt.finish_reason],
  ...(receipt.cut_tools.length > 0 ? [['cut tools', receipt.cut_tools.join(', ')] as const] : []),
]

/** "22 × $2.5 per million = $0.000055", "2 × $0.19 = $0.38 (1024x1024/high)". */
function lineOf({ image }: Receipt, line: Receipt['lines'][number]): Field {
  const price = readPrice(line.unit_price_usd)
  const each =
    line.unit === 'token' && price !== undefined
      ? `${dollars(renderPerMillion(price))} per million`
      : dollars(line.unit_price_usd)
  const size =
    line.class === 'output_images' && image !== null
      ? ` (${image.resolution ?? 'any size'}/${image.quality ?? 'any quality'})`
      : ''
  return [line.class.replaceAll('_', ' '), `${line.count} × ${each} = $${line.amount_usd}${size}`]
}

function moneyOf(receipt: Receipt): readonly Field[] {
  const { stated_cost_usd, stated_difference_usd, stated_difference_percent } = receipt
  const percent = stated_difference_percent === null ? '' : `, ${stated_difference_percent}%`
  const difference =
    stated_difference_usd === null
      ? ''
      : ` (difference ${dollars(stated_difference_usd)}${percent})`
  return [
    [
      'charged',
      receipt.price_version === null
        ? 'nothing'
        : `${dollars(receipt.cost_usd)} = ${receipt.cost_rub} ₽ at ${receipt.rub_per_usd}`,
    ],
    ['price version', receipt.price_version],
    ['usage source', receipt.usage_source],
    ['charged to nobody', unpaid(receipt.operator_cost_usd)],
    [
      'provider states',
      stated_cost_usd === null ? null : `${dollars(stated_cost_usd)}${difference}`,
    ],
  ]
}

/** Output of failed attempts, and what came beyond what was held: not what the vendor charges, which is not known here. */
const unpaid = (usd: string): string =>
  usd === '0' ? 'nothing' : `output of $${usd} at the model's price`

const timesOf = ({ queued_ms, first_byte_ms, total_ms }: Receipt): readonly Field[] => [
  ['queued', spanOf(queued_ms)],
  ['first byte', first_byte_ms === null ? null : spanOf(first_byte_ms)],
  ['total', spanOf(total_ms)],
]

function attemptOf(attempt: Receipt['attempts'][number], index: number): Field {
  const { model, provider, credential, outcome, status, reason, ms, operator_cost_usd } = attempt
  const parts = [
    `${model} at ${provider}${credential === null ? '' : ` by its credential ${credential}`}: ${outcome}`,
    ...(status === null ? [] : [`status ${status}`]),
    spanOf(ms),
    ...(operator_cost_usd === '0'
      ? []
      : [`output of $${operator_cost_usd} that nobody is charged`]),
    ...(reason === null ? [] : [`"${reason}"`]),
  ]
  return [`attempt ${index + 1}`, parts.join(', ')]
}
