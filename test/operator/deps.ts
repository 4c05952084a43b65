/** The dependencies of the verbs on a real store in memory, with a clock wound by hand and a demo kit of one model. */
import { onTestFinished } from 'vitest'
import { openStore } from '#db/index.ts'
import { instant } from '#domain/clock.ts'
import type { LiveFacts, OperatorDeps } from '#operator/deps.ts'
import { type AnyVerb, perform } from '#operator/verb.ts'
import { VERBS, type VerbInput, type VerbName, type VerbRecord } from '#operator/verbs.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { createProbe } from '#upstream/probe.ts'

export interface TestOperatorDeps extends OperatorDeps {
  readonly clock: HandClock
}

/** Empty until `init` furnishes it. */
export async function openOperator(): Promise<TestOperatorDeps> {
  const clock = handClock('2026-08-23T12:00:00Z')
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  onTestFinished(() => store.close())
  return {
    store,
    clock,
    version: '0.0.0-test',
    dataDir: null,
    live: null,
    who: 'uid 7 (tester)',
    delivery: { smtp: false, loopbackWebhooks: false },
    probe: createProbe(clock),
    demoKit: async (at) => ({ provider: demoProvider(at), cards: demoCards(at) }),
  }
}

/** What a gateway tells of itself that serves at `h:1`, and at which nothing has happened yet. */
export const serving = (more: Partial<LiveFacts> = {}): LiveFacts => ({
  listen: 'h:1',
  baseUrl: 'http://h:1/v1',
  authUrl: null,
  pid: 1,
  startedAt: instant(0),
  hops: () => [],
  paces: () => [],
  stuckProcesses: () => 0,
  credentials: () => [],
  codeMailFailure: () => null,
  wakeMails: () => {},
  clockJump: () => null,
  ...more,
})

/** Runs a verb as the socket would: by name, from untrusted input, through JSON. */
export async function act<Name extends VerbName>(
  deps: OperatorDeps,
  name: Name,
  input: VerbInput<Name>,
): Promise<VerbRecord<Name>> {
  const verb: AnyVerb = await VERBS[name]()
  const record = await perform(verb, deps, JSON.parse(JSON.stringify(input)))
  return JSON.parse(JSON.stringify(record)) as VerbRecord<Name>
}

/** The same with its account, the demo provider and one key called `default`. */
export async function openFurnished(): Promise<TestOperatorDeps> {
  const deps = await openOperator()
  await act(deps, 'init', {})
  return deps
}
