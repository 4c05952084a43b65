/** A gateway whose providers replay recordings, in several forms or cut short, and the stock client that calls it. */
import type OpenAI from 'openai'
import * as sdk from 'openai'
import type { ModelCard } from '#domain/model-card.ts'
import { onlyCredential, type ProviderType } from '#domain/provider.ts'
import {
  type Appliance,
  furnishCli,
  nanos,
  openStoreOf,
  startAppliance,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { aCard, anAct, aProvider, aVersion, perM, price } from '#test/support/nouns.ts'
import { type Recording, type Replay, startReplay } from '#test/support/replay.ts'
import { PER_IMAGE, PRICES } from './bill.ts'
import type { Said, Wire } from './heard.ts'
import { draws, type Truth } from './truth.ts'

export const CREDENTIAL = 'sk-canary-of-the-operator'
const PROMPT = 'Which ocean contains Bouvet Island?'

/** One recording, served in one way. */
export interface Case {
  readonly recording: Recording
  /** The replay server's options: `split=1`, `cut=120`; empty for none. */
  readonly dress: string
  /** The provider that serves it so; one model has many, and a request names its own. */
  readonly provider: string
  /** Images cost by the piece, not by their tokens. */
  readonly isByPiece: boolean
  readonly truth: Truth
}

/** What became of one case, as its application saw it. */
export interface Seen {
  readonly said: Said
  readonly finish: string | null
  readonly usage: Wire
  readonly error: Wire
  readonly generation: string
  /** The whole body of a stream that breaks; the stock client hangs up at the error in it. */
  readonly body: string
}

export interface ReplayGateway {
  readonly gateway: Appliance
  readonly cli: CliHarness
  readonly key: string
  /** In nano-dollars, before anything was asked. */
  readonly balanceBefore: bigint
  balance(): Promise<bigint>
  /** Asks for every case, so many at a time. */
  askAll(cases: readonly Case[], atOnce: number): Promise<void>
  seen(one: Case): Seen
  /** Nano-dollars of every charge in the ledger, by generation; read once all has been asked. */
  charges(): Promise<ReadonlyMap<string, readonly bigint[]>>
  close(): Promise<void>
}

/** One model for a recording, and another where its images have a price of their own. */
const modelOf = ({ recording, isByPiece }: Case): string =>
  `${recording.name.replaceAll('/', '.')}/${isByPiece ? 'by-piece' : 'm'}`

/** The types of the SDK know neither routing nor how images are asked for. */
export const toBody = (one: Case): OpenAI.ChatCompletionCreateParams => ({
  model: modelOf(one),
  messages: [{ role: 'user', content: PROMPT }],
  ...{ provider: { only: [one.provider] } },
  ...(one.recording.stream && { stream: true }),
  ...(draws(one.recording) && !one.recording.stream && { modalities: ['image', 'text'] as never }),
})

const TYPES: Readonly<Record<string, ProviderType>> = {
  'anthropic-messages': 'anthropic',
  gemini: 'google',
  'openai-chat': 'openai',
  'openai-images': 'openai',
  'other-openai-compatible': 'openai-compatible',
}

/** Starts it; the providers are written directly to the store, because adding a thousand through commands is slow. */
export async function openReplayGateway(
  cases: readonly Case[],
): Promise<ReplayGateway | undefined> {
  const replay = await startReplay()
  if (!replay) return undefined
  const cli = furnishCli(openCli())
  await furnishCatalogue(cli, replay, cases)
  const gateway = await startAppliance(cli)
  const { key } = await gateway.verb('keys.create', { name: 'reader' })
  const balance = async () => nanos((await gateway.verb('balance.show', {})).balance_usd)
  const seen = new Map<string, Seen>()
  return {
    gateway,
    cli,
    key,
    balanceBefore: await balance(),
    balance,
    async askAll(list, atOnce) {
      const waiting = [...list]
      const ask = async (): Promise<void> => {
        for (let one = waiting.shift(); one; one = waiting.shift())
          seen.set(one.provider, await askFor(one, gateway, key))
      }
      await Promise.all(Array.from({ length: atOnce }, ask))
    },
    seen({ provider }) {
      const found = seen.get(provider)
      if (!found) throw new Error(`${provider} was not asked`)
      return found
    },
    async charges() {
      const entries = await gateway.verb('ledger.list', { kind: 'charge', limit: 10_000 })
      return new Map(
        Object.entries(Object.groupBy(entries, (entry) => entry.generation_id ?? '')).map(
          ([generation, group = []]) => [
            generation,
            group.map(({ amount_usd: amount }) => -nanos(amount)),
          ],
        ),
      )
    },
    async close() {
      await gateway.kill()
      await replay.stop()
      cli.close()
    },
  }
}

async function furnishCatalogue(
  cli: CliHarness,
  { url }: Replay,
  cases: readonly Case[],
): Promise<void> {
  const store = await openStoreOf(cli)
  const addProvider = async ({ recording, provider: name, dress }: Case): Promise<void> => {
    const type = TYPES[recording.family] ?? (recording.family as ProviderType)
    const baseUrl = `${url}/r/${recording.name}${dress && `/~${dress}`}`
    await store.providers.add(
      aProvider({ name, type, baseUrl, hasCredential: true }),
      onlyCredential(CREDENTIAL),
      [],
      anAct(),
    )
  }
  await Promise.all(cases.map(addProvider))
  const byModel = Object.values(Object.groupBy(cases, modelOf))
  await Promise.all(
    byModel.map(async (group = []) => await store.models.add(cardOf(group), anAct())),
  )
  await store.close()
}

/** The model of cases that differ in their dress alone: each is a hop of its route. */
function cardOf([one, ...others]: readonly Case[]): ModelCard {
  if (!one) throw new Error('a model that nobody serves')
  // Only under this name is a model asked by the operation that was recorded.
  const upstreamName = one.recording.family === 'openai-images' ? 'gpt-image-1' : 'm'
  const imagePrices = [{ resolution: '*', quality: '*', usd: price(PER_IMAGE) }]
  return aCard({
    id: modelOf(one),
    provider: one.provider,
    upstreamName,
    route: [one, ...others].map(({ provider }) => ({
      provider,
      upstreamName,
      position: 1,
      weight: 1,
    })),
    outputModalities: draws(one.recording) ? ['text', 'image'] : ['text'],
    price: aVersion({
      prompt: perM(PRICES.in),
      completion: perM(PRICES.out),
      cacheRead: perM(PRICES.cached),
      cacheWrite: perM(PRICES.written),
      imagePrices: one.isByPiece ? imagePrices : [],
    }),
  })
}

async function askFor(one: Case, gateway: Appliance, key: string): Promise<Seen> {
  const isWatched = one.recording.stream && one.truth.failure !== null
  let body = ''
  const watch = async (...asked: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...asked)
    body = await response.text()
    const { status, headers } = response
    return new Response(body, { status, headers })
  }
  const client = gateway.client(key, isWatched ? { fetch: watch } : {})
  const chunks: Wire[] = []
  let error: Wire = null
  let headers = new Headers()
  try {
    const { data, response } = await client.chat.completions.create(toBody(one)).withResponse()
    headers = response.headers
    if (one.recording.stream)
      for await (const chunk of data as never as AsyncIterable<Wire>) chunks.push(chunk)
    else chunks.push(data)
  } catch (thrown) {
    if (!(thrown instanceof sdk.APIError)) throw thrown
    error = thrown
    headers = thrown.headers ?? headers
  }
  return { ...fold(chunks), error, generation: headers.get('x-generation-id') ?? '', body }
}

/** An application's own reading of what it got, whole or in pieces. */
function fold(chunks: readonly Wire[]): Pick<Seen, 'said' | 'finish' | 'usage'> {
  const choices = chunks.flatMap((chunk) => chunk.choices)
  const pieces: Wire[] = choices.map(({ delta, message }) => delta ?? message)
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const [place, piece] of pieces.flatMap((one) => one.tool_calls ?? []).entries()) {
    const at = piece.index ?? place
    calls[at] ??= { id: '', name: '', arguments: '' }
    // Said twice they would be there twice.
    calls[at].id += piece.id ?? ''
    calls[at].name += piece.function.name ?? ''
    calls[at].arguments += piece.function.arguments ?? ''
  }
  return {
    said: {
      text: pieces.map(({ content }) => content ?? '').join(''),
      reasoning: pieces.map((one) => one.reasoning_content ?? '').join(''),
      refusal: pieces.map(({ refusal }) => refusal ?? '').join(''),
      calls,
      images: pieces.flatMap(({ images }) => images ?? []).map((image) => image.image_url.url),
    },
    finish: choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason ?? null,
    usage: chunks.findLast(({ usage }) => usage)?.usage ?? null,
  }
}
