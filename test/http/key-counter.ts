/** An API for managing keys: a provisioning key, a second account with keys of its own, and a function that sends requests. */

import { onTestFinished } from 'vitest'
import { type Account, draftAccount } from '#domain/account.ts'
import { draftKey, type NewKey } from '#domain/key.ts'
import type { KeyRecord } from '#domain/key-report.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { newSecret } from '#domain/secret.ts'
import type { ApiDeps } from '#http/deps.ts'
import {
  type Furnished,
  furnish,
  type HandClock,
  handClock,
  openApi,
  type TestKey,
} from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'

export const NOON = Date.UTC(2026, 7, 22, 12)

type Bearer = TestKey['bearer']

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed JSON body; each test knows its shape. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON
  readonly body: any
}

export interface KeyCounter {
  readonly deps: Furnished
  readonly clock: HandClock
  readonly api: ReturnType<typeof openApi>
  /** Has no limits and belongs to the first account. */
  readonly boss: TestKey
  /** As `boss` by default; a string body is sent unchanged. */
  ask(method: string, path: string, body?: unknown, headers?: Bearer): Promise<Answer>
  /** Expects 201, or fails the test. */
  mint(fields?: object): Promise<KeyRecord & { readonly key: string; readonly warnings?: string[] }>
  /** Directly in the store, as the operator would. */
  issueIn(account: Account, wish?: Partial<NewKey>): Promise<TestKey>
  openAccount(name: string): Promise<Account>
}

export async function openKeyCounter(changes: Partial<ApiDeps> = {}): Promise<KeyCounter> {
  const clock = handClock(NOON)
  const deps = await furnish({ clock })
  onTestFinished(() => deps.store.close())
  const api = openApi(deps, changes)

  const issueIn: KeyCounter['issueIn'] = async ({ id: accountId }, wish = {}) => {
    const secret = newSecret()
    const stated = { name: 'worker', kind: 'ordinary', note: null, expiresAt: null } as const
    const key = draftKey({ ...stated, limits: NO_LIMITS, ...wish, accountId }, secret, clock.now())
    await deps.store.keys.issue(key, secret, anAct())
    return { key, bearer: bearerOf(secret) }
  }
  const boss = await issueIn(deps.account, { name: 'boss', kind: 'provisioning' })

  const ask: KeyCounter['ask'] = async (method, path, body, headers = boss.bearer) => {
    const response = await api.app.request(`http://gateway.test${path}`, {
      method,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? null : JSON.parse(text),
    }
  }

  return {
    deps,
    clock,
    api,
    boss,
    ask,
    async mint(fields = {}) {
      const { status, body, text } = await ask('POST', '/v1/keys', { name: 'worker', ...fields })
      if (status !== 201) throw new Error(`not issued: ${text}`)
      return body
    },
    issueIn,
    async openAccount(name) {
      const at = clock.now()
      const account = draftAccount(name, at)
      await deps.store.accounts.create(account, anAct())
      return account
    },
  }
}

export const bearerOf = (secret: string): Bearer => ({ Authorization: `Bearer ${secret}` })
