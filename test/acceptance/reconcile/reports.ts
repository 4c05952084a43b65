/** The vendors' reports of a simulated month, in the forms that they document. */
import { CLASSES, type Class, type Counted, type Month } from './month.ts'

const DAY_MS = 86_400_000
const MICRO_DOLLAR = 1_000_000_000_000n

type Bucket = Readonly<Record<string, unknown>>

export interface Reports {
  readonly usage: readonly Bucket[]
  readonly costs: readonly Bucket[]
  /** What the vendor asks for altogether, in millionths of a dollar. */
  readonly total: bigint
}

const days = ({ from, to }: Month): readonly number[] =>
  Array.from({ length: (to - from) / DAY_MS }, (_, index) => from / DAY_MS + index)

const rfc = (day: number): string => `${new Date(day * DAY_MS).toISOString().slice(0, 19)}Z`

const add = (lines: readonly Counted[], one: Class): number =>
  lines.reduce((sum, { tokens }) => sum + tokens[one], 0)

const cost = (lines: readonly Counted[], one: Class | 'searches'): bigint =>
  lines.reduce((sum, line) => sum + line.cost[one], 0n)

const byModel = (lines: readonly Counted[]): readonly (readonly [string, readonly Counted[]])[] => [
  ...Map.groupBy(lines, ({ model }) => model.billed),
]

const TOKEN_TYPES: Readonly<Record<Class, string>> = {
  input: 'uncached_input_tokens',
  read: 'cache_read_input_tokens',
  write: 'cache_creation.ephemeral_5m_input_tokens',
  write1h: 'cache_creation.ephemeral_1h_input_tokens',
  output: 'output_tokens',
}

/** Cents with four places, what is smaller cut off. */
function cents(attos: bigint): string {
  const micros = (attos / MICRO_DOLLAR).toString().padStart(5, '0')
  return `${micros.slice(0, -4)}.${micros.slice(-4)}`
}

/** `usage_report/messages` by model, and `cost_report` by description. */
export function anthropicReports(month: Month): Reports {
  const ofDay = Map.groupBy(month.counted, ({ day }) => day)
  let total = 0n
  const charged = (attos: bigint): string => {
    total += attos / MICRO_DOLLAR
    return cents(attos)
  }
  const times = (day: number) => ({ starting_at: rfc(day), ending_at: rfc(day + 1) })
  const usage = days(month).map((day) => ({
    ...times(day),
    results: byModel(ofDay.get(day) ?? []).map(([model, lines]) => ({
      api_key_id: null,
      workspace_id: null,
      model,
      service_tier: null,
      context_window: null,
      uncached_input_tokens: add(lines, 'input'),
      cache_creation: {
        ephemeral_1h_input_tokens: add(lines, 'write1h'),
        ephemeral_5m_input_tokens: add(lines, 'write'),
      },
      cache_read_input_tokens: add(lines, 'read'),
      output_tokens: add(lines, 'output'),
      server_tool_use: {
        web_search_requests: lines.reduce((sum, { searches }) => sum + searches, 0),
      },
    })),
  }))
  const none = {
    currency: 'USD',
    workspace_id: null,
    context_window: null,
    service_tier: 'standard',
  }
  const costs = days(month).map((day) => {
    const lines = ofDay.get(day) ?? []
    const ofTokens = byModel(lines).flatMap(([model, own]) =>
      CLASSES.filter((one) => cost(own, one) > 0n).map((one) => ({
        ...none,
        cost_type: 'tokens',
        token_type: TOKEN_TYPES[one],
        description: `${model} Usage - ${one}`,
        model,
        amount: charged(cost(own, one)),
      })),
    )
    const searched = cost(lines, 'searches')
    const search = {
      ...none,
      cost_type: 'web_search',
      token_type: null,
      model: null,
      description: 'Web Search Usage',
    }
    const results =
      searched > 0n ? [...ofTokens, { ...search, amount: charged(searched) }] : ofTokens
    return { ...times(day), results }
  })
  return { usage, costs, total }
}

const dollars = (attos: bigint): number => Number(attos) / 1e18

const LINE_ITEMS: Readonly<Record<Class, string>> = {
  input: 'input',
  read: 'cached input',
  write: 'cache writes',
  write1h: 'cache writes',
  output: 'output',
}

/** `usage/completions` by model, and `costs` by line item: floating-point dollars. */
export function openaiReports(month: Month): Reports {
  const ofDay = Map.groupBy(month.counted, ({ day }) => day)
  let total = 0n
  const times = (day: number) => ({
    object: 'bucket',
    start_time: day * 86_400,
    end_time: (day + 1) * 86_400,
  })
  const usage = days(month).map((day) => ({
    ...times(day),
    results: byModel(ofDay.get(day) ?? []).map(([model, lines]) => ({
      object: 'organization.usage.completions.result',
      input_tokens: add(lines, 'input') + add(lines, 'read') + add(lines, 'write'),
      input_cached_tokens: add(lines, 'read'),
      input_cache_write_tokens: add(lines, 'write'),
      output_tokens: add(lines, 'output'),
      num_model_requests: lines.length,
      project_id: null,
      model,
      batch: null,
    })),
  }))
  const costs = days(month).map((day) => ({
    ...times(day),
    results: byModel(ofDay.get(day) ?? []).flatMap(([model, lines]) =>
      CLASSES.filter((one) => cost(lines, one) > 0n).map((one) => {
        total += cost(lines, one) / MICRO_DOLLAR
        return {
          object: 'organization.costs.result',
          amount: { value: dollars(cost(lines, one)), currency: 'usd' },
          line_item: `${model}, ${LINE_ITEMS[one]}`,
          project_id: null,
        }
      }),
    ),
  }))
  return { usage, costs, total }
}

/** `/activity`: one amount for a model and a day. */
export function openrouterActivity(month: Month) {
  return [...Map.groupBy(month.counted, ({ day, model }) => `${day} ${model.upstream}`)].map(
    ([name, lines]) => ({
      date: rfc(Number(name.split(' ')[0])).slice(0, 10),
      model: name.split(' ')[1],
      model_permaslug: lines[0]?.model.billed,
      endpoint_id: '550e8400-e29b-41d4-a716-446655440000',
      provider_name: 'Some',
      usage: dollars(
        lines.reduce(
          (sum, line) => sum + Object.values(line.cost).reduce((all, part) => all + part, 0n),
          0n,
        ),
      ),
      byok_usage_inference: 0,
      requests: lines.length,
      prompt_tokens:
        add(lines, 'input') + add(lines, 'read') + add(lines, 'write') + add(lines, 'write1h'),
      completion_tokens: add(lines, 'output'),
      reasoning_tokens: 0,
    }),
  )
}

/** The export of single requests, as its columns are. */
export function openrouterCsv(month: Month): string {
  const header =
    'generation_id,created_at,cost_total,cost_web_search,cost_cache,tokens_prompt,tokens_completion,tokens_reasoning,tokens_cached,model_permaslug,provider_name,variant,cancelled,app_name'
  const lines = month.counted.map(({ day, model, tokens, cost: of }, at) => {
    const all = Object.values(of).reduce((sum, part) => sum + part, 0n)
    const prompt = tokens.input + tokens.read + tokens.write + tokens.write1h
    return [
      `gen-${at}`,
      `${rfc(day).slice(0, 10)} 03:46:57.713`,
      dollars(all),
      0,
      0,
      prompt,
      tokens.output,
      0,
      tokens.read,
      model.billed,
      'Some',
      'standard',
      'false',
      at % 7 === 0 ? '"An ""app"", of\nmine"' : 'app',
    ].join(',')
  })
  return `${[header, ...lines].join('\r\n')}\r\n`
}
