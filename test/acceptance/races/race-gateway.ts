/** A running gateway for races, with accounts, a provider that answers when released, and one that answers soon. */
import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import type { VerbInput } from '#operator/verbs.ts'
import { nanos, openHolds, priced, until } from '#test/support/appliance.ts'
import { isOverNodes } from '#test/support/one-process.ts'
import { FULL } from '#test/support/tier.ts'
import type { Socket } from '#test/upstream/fixtures.ts'
import { hello, openScriptedGateway, say } from '../traps/scripted-gateway.ts'

export const AT_ONCE = FULL || isOverNodes ? 600 : 200
const USAGE = { prompt_tokens: 100, completion_tokens: 20 }
/** The cost of each answer of both providers. */
export const CHARGE = priced([100, '1'], [20, '2'])

export interface RaceGateway {
  /** Serves `held/m`, which answers only after `releaseAll`. The other model is `slow/m`. */
  readonly held: Socket
  /** The number of requests that are not yet answered. */
  waiting(): number
  releaseAll(): void
  /** A request of end user `ann`, every second one streamed. Null when it succeeds. */
  ask(key: string, place: number, more: object): Promise<Refusal | null>
  /** This many keys of one account of their own. */
  openAccount(
    account: string,
    dollars: string,
    count: number,
    fields?: Partial<VerbInput<'keys.create'>>,
    limits?: Partial<VerbInput<'accounts.create'>>,
  ): Promise<readonly string[]>
  /** The usage in the key's own information. */
  usageOf(key: string): Promise<Readonly<Record<string, unknown>>>
  chargesOf(account: string): Promise<readonly bigint[]>
  /** No hold, no request in progress, and a consistent ledger. */
  expectNothingLeft(keys: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** A refusal, as defined by the contract. */
export interface Refusal {
  readonly line: string
  /** Seconds, as text. */
  readonly retryAfter: unknown
  readonly shouldRetry: unknown
  readonly metadata: Readonly<Record<string, unknown>>
}

async function read(response: Response): Promise<Refusal | null> {
  const text = await response.text()
  if (response.ok) return null
  const { error } = JSON.parse(text) as { error: { code: string; metadata: Refusal['metadata'] } }
  return {
    line: `${response.status} ${error.code}`,
    retryAfter: response.headers.get('retry-after'),
    shouldRetry: response.headers.get('x-should-retry'),
    metadata: error.metadata,
  }
}

export async function openRaceGateway(): Promise<RaceGateway> {
  const { cli, gateway, provide, addModel, close } = await openScriptedGateway({
    env: { GATEWAY_RESERVE_WAIT: '0s' },
  })
  const waiting: { readonly response: ServerResponse; readonly stream: unknown }[] = []
  const held = await provide('held', (response, { body }) => {
    waiting.push({ response, stream: body['stream'] })
  })
  await provide('slow', (response, { body }) => {
    setTimeout(() => say(response, body['stream'], USAGE), 5)
  })
  await addModel('held/m')
  await addModel('slow/m')

  const usageOf = async (key: string): Promise<Readonly<Record<string, unknown>>> => {
    const headers = { authorization: `Bearer ${key}` }
    const info = await fetch(`${gateway.url}/v1/key`, { headers })
    return ((await info.json()) as { usage: Record<string, unknown> }).usage
  }

  return {
    held,
    waiting: () => waiting.length,
    releaseAll() {
      for (const { response, stream } of waiting.splice(0)) say(response, stream, USAGE)
    },
    ask: async (key, place, more) =>
      read(await gateway.chat(key, hello({ stream: place % 2 === 0, user: 'ann', ...more }))),
    async openAccount(account, dollars, count, fields = {}, limits = {}) {
      await gateway.verb('accounts.create', { name: account, ...limits })
      await gateway.verb('balance.top-up', { account, amount_usd: dollars })
      const issue = (n: number) =>
        gateway.verb('keys.create', { name: `${account} ${n}`, account, ...fields })
      const issued = await Promise.all(Array.from({ length: count }, (_, n) => issue(n)))
      return issued.map(({ key }) => key)
    },
    usageOf,
    async chargesOf(account) {
      const entries = await gateway.verb('ledger.list', { account, kind: 'charge', limit: 1_000 })
      return entries.map(({ amount_usd: amount }) => -nanos(amount))
    },
    async expectNothingLeft(keys) {
      expect(openHolds(cli)).toBe(0)
      expect(cli.run(['audit', '-q'])).toEqual({ code: 0, out: '', err: '' })
      // What runs at other nodes is read again and again.
      const isQuiet = async () => (await gateway.verb('status', {})).in_flight === 0
      await until(isQuiet, 'nothing is in flight')
      for (const key of keys) {
        expect(await usageOf(key)).toMatchObject({ requests_in_progress: 0, reserved_usd: '0' })
      }
    },
    close,
  }
}
