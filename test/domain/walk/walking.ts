/** A gateway to walk through: a real store with one account of ten dollars, one provider's models, and its books. */
import { expect } from 'vitest'
import { openStore } from '#db/index.ts'
import type { ActivityEntry } from '#domain/activity.ts'
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Caller } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { newSecret } from '#domain/secret.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import type { Store } from '#domain/store.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { createSessionRoutes } from '#domain/walk/session-routes.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import type { Work } from '#domain/work.ts'
import { anAdmissionQueue } from '#test/support/an-admission-queue.ts'
import { noteArrival } from '#test/support/arrival.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import {
  aCard,
  aKey,
  anAccount,
  anAct,
  aProvider,
  aRequest,
  aTopUp,
  aVersion,
  price,
  usd,
} from '#test/support/nouns.ts'
import { type Script, script } from '#test/support/scripted-upstream.ts'
import { type CompletionStep, walkSteps } from '#test/support/walk-steps.ts'

/** 22 tokens in and 3 out: $0.000085 at the models' price. */
export const COUNTED: ChatEvent = {
  type: 'usage',
  usage: { ...NO_USAGE, inputTokens: 22, outputTokens: 3 },
}
export const IMAGE: ChatEvent = { type: 'image', choice: 0, url: 'data:image/png;base64,AA==' }

/** Says these batches and is done. */
export const says = (...batches: readonly ChatEvents[]): Script =>
  script(async function* () {
    yield* batches
  })

export interface Walk {
  readonly steps: CompletionStep[]
  readonly caller: Caller
  /** What the walk threw, if it did. */
  readonly thrown: unknown
}

export const types = ({ steps }: Walk) => steps.map(({ type }) => type)

export interface WalkWishes {
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal
  readonly onStep?: (step: CompletionStep) => void
}

export interface WalkBench {
  readonly clock: HandClock
  readonly store: Store
  /** The gateway where one script plays every provider. */
  depsOf(of: Pick<Script, 'upstream'>): CompletionDeps
  /** A caller with a key of its own. */
  call(limits?: Partial<Limits>): Promise<Caller>
  start(
    deps: CompletionDeps,
    request: Work,
    signal: AbortSignal,
    limits?: Partial<Limits>,
  ): Promise<{ readonly caller: Caller; readonly generator: ReturnType<typeof walkSteps> }>
  /** Walks to the end; `onStep` may do something to it on the way. */
  walk(deps: CompletionDeps, request?: Work, wishes?: WalkWishes): Promise<Walk>
  /** The books after one request: its one line, what it cost, and proof that nothing is left open. */
  books(caller: Caller): Promise<{
    readonly charged: bigint
    readonly charges: number
    readonly line: ActivityEntry
  }>
}

export async function openWalkBench(): Promise<WalkBench> {
  const clock = handClock('2026-08-22T12:00:00Z')
  const store = await openStore({
    dataDir: ':memory:',
    clock,
    masterKey: new Uint8Array(32).fill(7),
  })
  await furnish(store, clock)

  const call: WalkBench['call'] = async (limits = {}) => {
    const key = aKey(clock.now(), limits)
    await store.keys.issue(key, newSecret(), anAct())
    return { key, requestId: 'req_1', ...noteArrival(clock) }
  }
  const start: WalkBench['start'] = async (deps, request, signal, limits) => {
    const caller = await call(limits)
    return { caller, generator: walkSteps(deps, caller, request, signal) }
  }

  return {
    clock,
    store,
    depsOf: ({ upstream }) => ({
      clock,
      store,
      settings: DEFAULT_SETTINGS,
      health: createHopHealth(clock),
      sessions: createSessionRoutes(),
      ended: () => {},
      queue: anAdmissionQueue(store, clock),
      upstreamFor: () => upstream,
    }),
    call,
    start,
    async walk(deps, request = aRequest(), { limits, signal, onStep } = {}) {
      const ears = signal ?? new AbortController().signal
      const { caller, generator } = await start(deps, request, ears, limits)
      const steps: CompletionStep[] = []
      let thrown: unknown
      try {
        for await (const step of generator) {
          steps.push(step)
          onStep?.(step)
        }
      } catch (error) {
        thrown = error
      }
      return { steps, caller, thrown }
    },
    books: (caller) => readBooks(store, clock, caller),
  }
}

async function furnish(store: Store, clock: HandClock): Promise<void> {
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('10')), anAct())
  await store.providers.add(aProvider(), [], [], anAct())
  await store.models.add(aCard(), anAct())
  await store.models.add(aCard({ id: 'acme/unpriced', price: null }), anAct())
  await store.models.add(
    aCard({
      id: 'acme/pixel',
      inputModalities: ['text', 'image'],
      outputModalities: ['image'],
      price: aVersion({ imagePrices: [{ resolution: '*', quality: '*', usd: price('0.04') }] }),
    }),
    anAct(),
  )
  await store.models.add(aCard({ id: 'acme/tokens', outputModalities: ['text', 'image'] }), anAct())
  await store.models.add(
    aCard({ id: 'acme/thinks', supportedParameters: ['reasoning_effort'] }),
    anAct(),
  )
}

async function readBooks(store: Store, clock: HandClock, { key }: Caller) {
  const usage = await store.admissions.usage(key.id, clock.now())
  const { openHolds } = await store.health({ checkIntegrity: false })
  expect(openHolds).toBe(0)
  expect(usage).toMatchObject({ requestsInProgress: 0, reserved: 0n })
  const charges = await store.ledger.list({ keyId: key.id, kind: 'charge', limit: 10 })
  const lines = await store.activity.list({ keyId: key.id, limit: 10 })
  expect(charges.length).toBeLessThanOrEqual(1)
  expect(lines).toHaveLength(1)
  const line = lines[0] as ActivityEntry
  const charged = -(charges[0]?.amount ?? 0n)
  expect(line.cost).toBe(charged)
  expect(usage.spendDay).toBe(charged)
  expect((await store.audit()).findings).toEqual([])
  return { charged, charges: charges.length, line }
}
