/** A furnished gateway for the tests of the API: a real store in memory, the demo models, money and one key. */

import { type Account, DEFAULT_ACCOUNT_NAME, draftAccount } from '#domain/account.ts'
import { type Clock, type Instant, systemClock } from '#domain/clock.ts'
import { newEntryId, newKeyId } from '#domain/id.ts'
import type { ApiKey, KeyKind } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import { readUsd, type UsdNanos } from '#domain/money.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import type { Upstream } from '#domain/upstream.ts'
import { createApi } from '#http/app.ts'
import { type ApiDeps, toApiDeps } from '#http/deps.ts'
import type { GatewayStore } from '#signin/store.ts'
import { openTestStore } from '#test/support/far-store.ts'
import { anAct } from '#test/support/nouns.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { openUpstream } from '#upstream/registry.ts'

export const usd = (text: string): UsdNanos => {
  const amount = readUsd(text)
  if (amount === undefined) throw new Error(`not an amount: ${text}`)
  return amount
}

export interface TestKey {
  readonly key: ApiKey
  readonly bearer: Readonly<Record<string, string>>
}

export interface Furnished {
  readonly store: GatewayStore
  readonly clock: Clock
  readonly account: Account
  issue(limits?: Partial<Limits>, kind?: KeyKind): Promise<TestKey>
}

/** A clock that tests wind by hand. */
export interface HandClock extends Clock {
  advance(ms: number): void
}

export function handClock(startMs: number): HandClock {
  let nowMs = startMs
  return {
    now: () => nowMs as Instant,
    monotonicMs: () => nowMs,
    advance(ms) {
      nowMs += ms
    },
  }
}

/** The demo provider with its four models, and an account with `balance` dollars. */
export async function furnish(
  options: { readonly clock?: Clock; readonly balance?: string } = {},
): Promise<Furnished> {
  const clock = options.clock ?? systemClock
  const store = await openTestStore(clock)
  const at = clock.now()
  const account = draftAccount(DEFAULT_ACCOUNT_NAME, at)
  await store.accounts.create(account, anAct())
  await store.ledger.credit(
    {
      id: newEntryId(at),
      accountId: account.id,
      kind: 'top_up',
      amount: usd(options.balance ?? '100'),
      at,
      keyId: null,
      generationId: null,
      day: null,
      endUser: null,
      rubPerUsd: DEFAULT_RUB_PER_USD,
      priceVersion: null,
      note: null,
      ref: null,
    },
    anAct(),
  )
  await store.providers.add(demoProvider(at), [], [], anAct())
  for (const card of demoCards(at)) await store.models.add(card, anAct())

  return {
    store,
    clock,
    account,
    async issue(limits = {}, kind = 'ordinary') {
      const now = clock.now()
      const secret = newSecret()
      const key: ApiKey = {
        id: newKeyId(now),
        accountId: account.id,
        name: 'worker',
        kind,
        label: labelOf(secret),
        note: null,
        limits: { ...NO_LIMITS, ...limits },
        accountLimits: account.limits,
        createdAt: now,
        updatedAt: now,
        lastUsedAt: null,
        expiresAt: null,
        disabledAt: null,
        revokedAt: null,
        madeBy: null,
      }
      await store.keys.issue(key, secret, anAct())
      return { key, bearer: { Authorization: `Bearer ${secret}` } }
    },
  }
}

/** The API over a furnished gateway; `upstream` stands in for whatever a provider would open. */
export function openApi(
  { store, clock }: Furnished,
  changes: Partial<ApiDeps> & { readonly upstream?: Upstream } = {},
) {
  const { upstream, ...rest } = changes
  const deps = toApiDeps({
    store,
    clock,
    settings: DEFAULT_SETTINGS,
    upstreamFor: (provider) => upstream ?? openUpstream(provider, null),
    ...rest,
  })
  const app = createApi(deps)
  return {
    app,
    running: deps.running,
    chat: (
      bearer: Readonly<Record<string, string>>,
      body: unknown,
      headers: Readonly<Record<string, string>> = {},
    ) =>
      app.request('http://gateway.test/v1/chat/completions', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...bearer, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      app.request(`http://gateway.test${path}`, { headers }),
  }
}

export const hello = (more: Readonly<Record<string, unknown>> = {}) => ({
  model: 'demo/echo',
  messages: [{ role: 'user', content: 'hello there world' }],
  ...more,
})
