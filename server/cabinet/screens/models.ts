/** The models that the account may use, what each costs, and a prompt to try one with. */
import { GatewayError } from '#domain/errors.ts'
import { allows } from '#domain/key.ts'
import { mayDo } from '#operator/roles.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { type Act, onPage, type Show } from '../draw/on-page.ts'
import {
  changing,
  choice,
  count,
  facts,
  field,
  foreign,
  rub,
  type Sheet,
  table,
  usd,
} from '../draw/parts.ts'
import { streamOf } from '../respond.ts'
import type { Visit } from '../visit.ts'
import { reasonOf } from './activity.ts'
import { drawSnippets } from './snippets.ts'

type Model = VerbRecord<'models.list'>[number]
type Key = VerbRecord<'keys.list'>[number]
type Allowing = Pick<Key, 'id' | 'name' | 'allowed_models'>

/** The keys that a request can be made with. */
async function usable({ act, account }: Visit): Promise<readonly Allowing[]> {
  const keys = await act('limits.show', { account: account.id })
  return keys.filter(({ status, kind }) => status === 'active' && kind === 'ordinary')
}

export const showModels: Show = async (visit) => {
  const { words, act, account, url } = visit
  const find = url.searchParams.get('find') ?? ''
  const keys = await usable(visit)
  const models = (await act('models.list', {})).filter(
    ({ id }) =>
      allows(account.limits.allowedModels, id) && id.toLowerCase().includes(find.toLowerCase()),
  )
  return {
    title: words.models.title,
    content: html`<h1>${words.models.title}</h1>
<p class="note">${words.models.perMillion}</p>
<form class="filters" method="get" action="/cabinet/models">${field('find', words.models.find, { value: find, type: 'search' })}
<button type="submit">${words.models.find}</button></form>
${models.length === 0 ? html`<p class="empty">${words.models.none}</p>` : tableOf(visit, models, keys)}`,
  }
}

const tableOf = ({ words }: Visit, models: readonly Model[], keys: readonly Allowing[]): Html =>
  table(
    words.models.title,
    [
      {
        title: words.models.model,
        cell: ({ id }) => html`<a href="${pathOf(id)}">${foreign(id)}</a>`,
      },
      { title: words.models.does, cell: (model) => doesOf(words, model) },
      {
        title: words.models.context,
        cell: ({ context_length }) => (context_length === null ? '' : count(context_length)),
        isNumber: true,
      },
      {
        title: words.models.input,
        cell: ({ price }) =>
          price === null
            ? html`<span class="state bad">${words.models.unpriced}</span>`
            : usd(price.in_usd),
        isNumber: true,
      },
      {
        title: words.models.cached,
        cell: ({ price }) => (price?.cached_in_usd ? usd(price.cached_in_usd) : ''),
        isNumber: true,
      },
      {
        title: words.models.output,
        cell: ({ price }) => (price === null ? '' : outputOf(words, price)),
        isNumber: true,
      },
      {
        title: words.models.keys,
        cell: ({ id }) => keysOf(words, keys, id),
      },
    ],
    models,
  )

/** Of a model that is paid for by the image, the least of one. */
function outputOf(words: Visit['words'], price: Price): string {
  const [least] = price.per_image_usd.toSorted((a, b) => Number(a.usd) - Number(b.usd))
  return least === undefined ? usd(price.out_usd) : `${usd(least.usd)} / ${words.models.each}`
}

const MAX_KEYS_SHOWN = 3
/** The newest. */
const MAX_KEYS_TO_TRY = 200

function keysOf(words: Visit['words'], keys: readonly Allowing[], model: string): Html | string {
  const open = keys.filter(({ allowed_models }) => allows(allowed_models, model))
  if (open.length === keys.length && keys.length > 0) return words.models.every
  if (open.length === 0) return html`<span class="dim">${words.models.noOne}</span>`
  const shown = open.slice(0, MAX_KEYS_SHOWN)
  return html`${shown.map(
    ({ id, name }, place) =>
      html`${place > 0 ? ', ' : ''}<a href="/cabinet/keys/${id}">${foreign(name)}</a>`,
  )}${open.length > shown.length ? ` +${open.length - shown.length}` : ''}`
}

function doesOf({ models: words }: Visit['words'], model: Model): string {
  if (model.kind !== 'generate') return words.kinds[model.kind] ?? model.kind
  const say = (all: readonly string[]): string =>
    all.map((one) => words.modalities[one] ?? one).join(', ')
  return `${say(model.input_modalities)} → ${say(model.output_modalities)}`
}

const pathOf = (id: string): string =>
  `/cabinet/models/${id.split('/').map(encodeURIComponent).join('/')}`

const idOf = ({ named }: Visit): string => `${named['provider'] ?? ''}/${named['model'] ?? ''}`

/** @throws model_not_found, also for one that the account may not use */
async function find(visit: Visit): Promise<Model> {
  const model = await visit.act('models.show', { model: idOf(visit) })
  if (allows(visit.account.limits.allowedModels, model.id)) return model
  throw new GatewayError('model_not_found', `there is no model "${model.id}"`)
}

/** Whether a prompt is answered with words. */
const speaks = ({ kind, output_modalities }: Model): boolean =>
  kind === 'generate' && output_modalities.includes('text')

export const showModel: Show = async (visit) => drawModel(visit, null)

interface Tried {
  readonly prompt: string
  readonly key: string
  readonly answer: string
}

async function drawModel(visit: Visit, tried: Tried | null): Promise<Sheet> {
  const { words, role } = visit
  const model = await find(visit)
  const allowing = await usable(visit)
  const { price } = model
  return {
    title: model.id,
    content: html`<p class="crumb"><a href="/cabinet/models">${words.models.title}</a></p>
<div class="top"><h1 id="model-id">${foreign(model.id)}</h1><button type="button" data-copy="model-id" data-copied="${words.keys.copied}">${words.models.copy}</button></div>
${facts([
  [words.models.does, doesOf(words, model)],
  [words.models.context, model.context_length === null ? null : count(model.context_length)],
  [words.models.keys, keysOf(words, allowing, model.id)],
])}
<h2>${words.models.prices}</h2>
${price === null ? html`<p class="problem">${words.models.unpriced}</p>` : pricesOf(visit, price)}
${speaks(model) && mayDo(role, 'keys.create') && (await tryOf(visit, model, tried))}
<h2>${words.models.quickStart}</h2>
${drawSnippets(visit, null, { model: model.kind === 'generate' ? model : undefined })}`,
  }
}

type Price = NonNullable<Model['price']>
type Line = readonly [name: string, amount: string | null, perMillion?: true]

/** Every class that has a price. */
function pricesOf({ words }: Visit, price: Price): Html {
  const { classes } = words.models
  const lines: readonly Line[] = [
    ...tokenLines(words, price, (name) => name),
    [words.classes.image_input_tokens, price.image_in_usd, true],
    [words.classes.image_output_tokens, price.image_out_usd, true],
    ...price.tiers.flatMap((tier) =>
      tokenLines(words, tier, (name) => classes.above(name, count(tier.above_input_tokens))),
    ),
    [classes.inputImage, orNone(price.per_input_image_usd)],
    ...price.per_image_usd.map(
      ({ resolution, quality, usd: each }): Line => [
        classes.image(`${resolution} ${quality}`),
        each,
      ],
    ),
    ...Object.entries(price.server_tools).map(([tool, each]): Line => [classes.tool(tool), each]),
    [classes.searchUnit, orNone(price.per_search_unit_usd)],
    [classes.request, orNone(price.per_request_usd)],
  ]
  const stated = lines.flatMap(([name, amount, isPerMillion]) =>
    amount === null
      ? []
      : [{ name, shown: usd(amount) + (isPerMillion ? ` ${words.receipt.perMillion}` : '') }],
  )
  const factors = Object.entries(price.modifiers).map(([field, factor]) => ({
    name: classes.factor(field),
    shown: `× ${factor}`,
  }))
  return table(
    words.models.prices,
    [
      { title: words.receipt.class, cell: ({ name }) => name },
      { title: words.receipt.price, cell: ({ shown }) => shown, isNumber: true },
    ],
    [...stated, ...factors],
    { isNarrow: true },
  )
}

const tokenLines = (
  { classes }: Visit['words'],
  price: Pick<
    Price,
    'in_usd' | 'out_usd' | 'cached_in_usd' | 'cache_write_usd' | 'cache_write_1h_usd'
  >,
  nameOf: (name: string) => string,
): readonly Line[] => [
  [nameOf(classes.input_tokens), price.in_usd, true],
  [nameOf(classes.cache_read_tokens), price.cached_in_usd, true],
  [nameOf(classes.cache_write_tokens), price.cache_write_usd, true],
  [nameOf(classes.cache_write_1h_tokens), price.cache_write_1h_usd, true],
  [nameOf(classes.output_tokens), price.out_usd, true],
]

const orNone = (amount: string): string | null => (amount === '0' ? null : amount)

const MAX_PROMPT_CHARS = 4_000

async function tryOf(visit: Visit, model: Model, tried: Tried | null): Promise<Html> {
  const { words, act, account } = visit
  const keys = await act('keys.list', { account: account.id, limit: MAX_KEYS_TO_TRY })
  const open = keys.filter(
    ({ allowed_models, status, kind }) =>
      status === 'active' && kind === 'ordinary' && allows(allowed_models, model.id),
  )
  if (open.length === 0) {
    return html`<h2>${words.models.tryIt}</h2><p class="note">${words.models.noKey} <a href="/cabinet/keys/new">${words.keys.create}</a></p>`
  }
  return html`<h2 id="try">${words.models.tryIt}</h2>
<p class="note">${words.models.tryText}</p>
${changing(
  visit,
  pathOf(model.id),
  html`<div class="fields"><div class="wide"><label for="prompt">${words.models.prompt}</label>
<textarea id="prompt" name="prompt" rows="3" required maxlength="${MAX_PROMPT_CHARS}">${tried?.prompt ?? ''}</textarea></div>
${choice(
  'key',
  words.models.key,
  open.map(({ id, name }) => [id, name]),
  tried?.key ?? '',
)}</div>
<div class="acts"><button class="lead-button" type="submit">${words.models.ask}</button></div>`,
  html` data-stream="answer" hx-boost="false"`,
)}
<pre class="answer" id="answer" role="status" aria-label="${words.models.answer}"${tried === null ? html` hidden` : ''}>${tried?.answer ?? ''}</pre>`
}

/** Streamed to a script, whole to a page without one. */
export const tryModel: Act = async (visit) => {
  const { form, act, account, request, operator, deps } = visit
  const prompt = (form.get('prompt') ?? '').slice(0, MAX_PROMPT_CHARS)
  const found = await act('keys.show', { key: form.get('key') ?? '', account: account.id })
  const key = await operator.store.keys.find(
    found.id as Parameters<typeof operator.store.keys.find>[0],
  )
  const { id: model } = await find(visit)
  if (key === undefined || prompt.trim() === '') {
    throw new GatewayError('invalid_request', 'a prompt and a key are needed', { param: 'prompt' })
  }
  const body = { model, stream: true, messages: [{ role: 'user', content: prompt }] }
  const answer = await deps.askAsKey(key, body, request.signal)
  const words = textOf(visit, answer)
  if (request.headers.get('accept') === 'text/event-stream') {
    return new Response(streamOf(words), {
      headers: {
        'Content-Type': 'text/plain; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
      },
    })
  }
  let text = ''
  for await (const part of words) text += part
  return await onPage(visit, await drawModel(visit, { prompt, key: found.id, answer: text }))
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
  readonly usage?: { readonly cost?: number; readonly cost_rub?: number } | null
  readonly error?: { readonly code?: string }
}

/** The words of an answer as they come, and what they cost; of a refusal what it says. */
async function* textOf(visit: Visit, answer: Response): AsyncGenerator<string, void> {
  if (!answer.ok || answer.body === null) {
    const { error } = (await answer.json()) as Chunk
    yield reasonOf(visit, error?.code ?? String(answer.status))
    return
  }
  let rest = ''
  const decoder = new TextDecoder()
  for await (const part of answer.body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const said = readLine(visit, line)
      if (said !== '') yield said
    }
  }
}

function readLine(visit: Visit, line: string): string {
  if (!line.startsWith('data: {')) return ''
  const { choices, usage, error } = JSON.parse(line.slice('data: '.length)) as Chunk
  if (error !== undefined) return `\n${reasonOf(visit, error.code ?? '')}`
  const cost = usage?.cost === undefined ? '' : `\n\n— $${usage.cost} · ${rub(usage.cost_rub ?? 0)}`
  return (choices?.[0]?.delta?.content ?? '') + cost
}
