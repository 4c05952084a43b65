/** A running gateway whose providers answer as long as the bound that they were sent, and count it. */
import { expect } from 'vitest'
import type { VerbInput } from '#operator/verbs.ts'
import { nanos, until } from '#test/support/appliance.ts'
import { openScriptedGateway, type ScriptedGateway } from '../traps/scripted-gateway.ts'

/** The maximum of the models, which an answer has where no bound was sent. */
export const MAXIMUM = 64_000

type Sent = Readonly<Record<string, unknown>>

/** What a provider does with a request; undefined: it answers as long as its bound. */
export type Conduct = (sent: Sent) => Response | undefined

export interface BoundGateway extends ScriptedGateway {
  /** The bounds that arrived, in order; null where none was stated. */
  readonly bounds: (number | null)[]
  /** Requests that are being answered; none is, for ten seconds, before so many are open together. */
  readonly open: { now: number; peak: number; together: number }
  /** A server that reads the bound in these words. */
  serve(name: string, words?: readonly string[], conduct?: Conduct): Promise<void>
  /** A key of an account of its own. */
  openKey(dollars: string, fields?: Partial<VerbInput<'keys.create'>>): Promise<string>
  /** Every charge of the account of this key. */
  chargesOf(key: string): Promise<readonly bigint[]>
  /** No more than the ceiling and one request; no hold left; the books add up. */
  expectWithin(key: string, ceiling: string): Promise<void>
}

const BOTH = ['max_completion_tokens', 'max_tokens']
const DELAY_MS = 15

/** A text of `tokens` tokens is one word and a count: only counts are charged. */
function answer(sent: Sent, tokens: number): Response {
  const drawn = Array.isArray(sent['modalities']) && sent['modalities'].includes('image')
  const images = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]
  const usage = { prompt_tokens: 10, completion_tokens: tokens }
  if (sent['stream'] !== true) {
    const message = { role: 'assistant', content: 'word', ...(drawn && { images }) }
    return Response.json({ choices: [{ index: 0, message, finish_reason: 'length' }], usage })
  }
  const events = [
    { choices: [{ index: 0, delta: { content: 'word' } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
    { choices: [], usage },
  ]
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  return new Response(`${text}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}

export async function openBoundGateway(): Promise<BoundGateway> {
  const scripted = await openScriptedGateway()
  const bounds: (number | null)[] = []
  const open = { now: 0, peak: 0, together: 0 }
  const accounts = new Map<string, string>()
  const servers: ReturnType<typeof Bun.serve>[] = []

  const chargesOf = async (key: string): Promise<readonly bigint[]> => {
    const account = accounts.get(key) ?? ''
    const entries = await scripted.gateway.verb('ledger.list', {
      account,
      kind: 'charge',
      limit: 1_000,
    })
    return entries.map(({ amount_usd: amount }) => -nanos(amount))
  }

  return {
    ...scripted,
    bounds,
    open,
    chargesOf,
    async serve(name, words = BOTH, conduct = () => undefined) {
      const server = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        async fetch(request) {
          const sent = (await request.json()) as Sent
          const stated = words.map((word) => sent[word]).find((value) => value !== undefined)
          const bound = typeof stated === 'number' ? stated : null
          bounds.push(bound)
          open.peak = Math.max(open.peak, ++open.now)
          await Bun.sleep(DELAY_MS)
          await until(() => open.peak >= open.together, 'all are open').catch(() => undefined)
          open.now--
          return conduct(sent) ?? answer(sent, bound ?? MAXIMUM)
        },
      })
      servers.push(server)
      await scripted.gateway.verb('providers.add', {
        name,
        type: 'openai-compatible',
        base_url: `http://127.0.0.1:${server.port}/v1`,
        credential: null,
      })
      await scripted.gateway.verb('models.add', {
        model: `${name}/m`,
        in_usd: '1',
        out_usd: '10',
        max_completion_tokens: MAXIMUM,
      })
    },
    async openKey(dollars, fields = {}) {
      const account = `a${accounts.size}`
      await scripted.gateway.verb('accounts.create', { name: account })
      await scripted.gateway.verb('balance.top-up', { account, amount_usd: dollars })
      const { key } = await scripted.gateway.verb('keys.create', { name: 'k', account, ...fields })
      accounts.set(key, account)
      return key
    },
    async expectWithin(key, ceiling) {
      const charges = await chargesOf(key)
      const spent = charges.reduce((sum, one) => sum + one, 0n)
      const largest = charges.reduce((most, one) => (one > most ? one : most), 0n)
      expect(charges.length).toBeGreaterThan(0)
      expect(spent).toBeLessThanOrEqual(nanos(ceiling) + largest)
      const info = await fetch(`${scripted.gateway.url}/v1/key`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(await info.json()).toMatchObject({
        usage: { requests_in_progress: 0, reserved_usd: '0' },
      })
      expect(scripted.cli.run(['audit', '-q'])).toMatchObject({ code: 0 })
    },
    async close() {
      await scripted.close()
      await Promise.all(servers.map((server) => server.stop(true)))
    },
  }
}
