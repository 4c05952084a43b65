/** Serves a test gateway on a real socket, for one test. */

import type { Clock } from '#domain/clock.ts'
import type { Upstream } from '#domain/upstream.ts'
import type { RequestLine } from '#http/request-log.ts'
import { DEFAULT_TIMINGS, type Timings } from '#http/timings.ts'
import { type Gateway, startGateway } from '#server/gateway.ts'
import { type Furnished, furnish, type TestKey } from '#test/support/furnish.ts'
import { anAct, aVersion, perM } from '#test/support/nouns.ts'

export interface Served {
  readonly deps: Furnished
  readonly gateway: Gateway
  readonly key: TestKey
  readonly lines: RequestLine[]
  chat(body: unknown, init?: RequestInit): Promise<Response>
  openHolds(): Promise<number>
  inProgress(): Promise<number>
}

export async function serve(
  upstream: Upstream | null,
  timings: Partial<Timings> = {},
  clock?: Clock,
): Promise<Served> {
  const deps = await furnish(clock && { clock })
  const key = await deps.issue({ concurrency: 100, rpm: 100_000 })
  const lines: RequestLine[] = []
  const gateway = await startGateway({
    store: deps.store,
    clock: deps.clock,
    timings: { ...DEFAULT_TIMINGS, ...timings },
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
    log: (line) => lines.push(line),
    ...(upstream && { upstreamFor: () => upstream }),
  })
  return {
    deps,
    gateway,
    key,
    lines,
    chat: (body, init = {}) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...key.bearer },
        body: JSON.stringify(body),
        ...init,
      }),
    openHolds: async () => (await deps.store.health({ checkIntegrity: false })).openHolds,
    inProgress: async () =>
      (await deps.store.admissions.usage(key.key.id, deps.clock.now())).requestsInProgress,
  }
}

/** Words of `demo/echo` cost nothing from now on: as many as anybody wants are within a hold. */
export async function freeWords({ deps: { store, clock } }: Pick<Served, 'deps'>): Promise<void> {
  const version = aVersion({ prompt: perM('1'), completion: perM('0') })
  await store.models.price(
    'demo/echo',
    { ...version, effectiveFrom: clock.now() },
    anAct(clock.now()),
  )
}
