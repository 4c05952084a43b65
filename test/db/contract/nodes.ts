/**
 * What every engine for several nodes promises: two handles on one store, each of which sees at once what the other has done, whoever
 * dies and whatever their clocks say.
 */

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Claim } from '#domain/admission.ts'
import { untilCurrent } from '#domain/catalogue.ts'
import { type Clock, DAY_MS, later } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { GatewayStore, SigninStore } from '#signin/store.ts'
import { aRepeat } from '#test/support/keep-answer.ts'
import {
  aCharge,
  aClaim,
  aNotice,
  anAct,
  anActivity,
  aTopUp,
  rate,
  usd,
} from '#test/support/nouns.ts'
import { aSigningKey } from '#test/support/signing-key.ts'
import type { Bench } from './bench.ts'
import { putArtifact } from './write-artifacts.ts'

/** Opens a further handle on the store, as another node does. */
export type JoinStore = (store: GatewayStore, clock: Clock) => Promise<GatewayStore>

/** How far the clocks of two nodes are apart. */
const SKEW_MS = 2_000
const LEASE_MS = 60_000

export function nodesContract(bench: Bench, join: JoinStore): void {
  let other: GatewayStore
  /** The other node's. */
  const ahead: Clock = {
    now: () => later(bench.clock.now(), SKEW_MS),
    monotonicMs: () => bench.clock.monotonicMs(),
  }
  beforeEach(async () => {
    other = await join(bench.store, ahead)
  })
  afterEach(() => other.close())

  const nodes = (): readonly (readonly [GatewayStore, Clock])[] => [
    [bench.store, bench.clock],
    [other, ahead],
  ]
  const claimAt = (
    [store, clock]: readonly [GatewayStore, Clock],
    key: ApiKey,
    hold: string,
  ): Claim => ({
    ...aClaim(key, clock.now(), usd(hold)),
    owner: store.owner,
    catalogue: store.catalogue.current().version,
  })
  /** Asks both in turn, all at once; returns what was admitted, and where. */
  const admit = async (key: ApiKey, count: number, hold = '0.01') => {
    const asked = Array.from({ length: count }, (_, nth) => {
      const node = nodes()[nth % 2] ?? [bench.store, bench.clock]
      return untilCurrent(async () => {
        const claim = claimAt(node, key, hold)
        const verdict = await node[0].admissions.admit(claim)
        if (verdict === 'stale') return verdict
        return verdict.admitted ? [{ claim, store: node[0] }] : []
      })
    })
    return (await Promise.all(asked)).flat()
  }
  const settle = (store: GatewayStore, claim: Claim, amount: string): Promise<boolean> => {
    const charge = aCharge(usd(amount))
    const activity = anActivity(claim, { cost: charge.amount, costRub: charge.costRub })
    return store.admissions.settle(claim.generationId, {
      at: claim.at,
      charge,
      activity,
      answer: null,
    })
  }
  const balance = async ({ accounts }: GatewayStore) => (await accounts.find('acct_1'))?.balance

  test.each([
    ['a rate', { rpm: 5 }],
    ['concurrency', { concurrency: 5 }],
    ['a ceiling', { dailySpend: usd('0.05') }],
  ])('%s of one key is one limit at both', async (_what, limits) => {
    const { key } = await bench.issue(limits)
    expect((await admit(key, 20)).length).toBe(5)
    expect((await admit(key, 2)).length).toBe(0)
  })

  test('a slot that frees at one is free at the other, at once or as late as its clock', async () => {
    const { key } = await bench.issue({ rpm: 2, concurrency: 2 })
    const [first, second] = await admit(key, 2)
    if (first === undefined || second === undefined) throw new Error('not admitted')
    await settle(other, first.claim, '0.01')
    await settle(bench.store, second.claim, '0.01')
    const { admissions } = bench.store
    expect(await admissions.usage(key.id, bench.clock.now())).toMatchObject({
      requestsInProgress: 0,
      requestsMinute: 2,
    })
    bench.clock.advance(60_000 + SKEW_MS)
    expect((await admit(key, 2)).length).toBe(2)
  })

  test('a settlement that is repeated, at either, charges once', async () => {
    const { key } = await bench.issue()
    const [one] = await admit(key, 1, '0.5')
    if (one === undefined) throw new Error('not admitted')
    const settled = await Promise.all([
      settle(bench.store, one.claim, '0.5'),
      settle(other, one.claim, '0.5'),
      settle(bench.store, one.claim, '0.5'),
    ])
    expect(settled.filter((isFirst) => isFirst)).toHaveLength(1)
    expect(await settle(other, one.claim, '0.5')).toBe(false)
    expect(await balance(bench.store)).toBe(usd('99.5'))
    expect(await balance(other)).toBe(usd('99.5'))
    expect((await other.audit()).findings).toEqual([])
  })

  test('what a node held that was killed is released, and nothing of the other', async () => {
    const { key } = await bench.issue({ concurrency: 2, dailySpend: usd('1') })
    const [mine, lost] = await admit(key, 2, '0.5')
    if (mine === undefined || lost === undefined) throw new Error('not admitted')
    const { owner } = other
    await bench.store.admissions.expire([owner.epoch], bench.clock.now())
    expect(await other.admissions.renew(owner, ahead.now())).toBe(false)
    expect(await settle(other, lost.claim, '0.5')).toBe(false)
    const here = claimAt([bench.store, bench.clock], key, '0.5')
    expect(await bench.store.admissions.admit(here)).toMatchObject({ admitted: true })
    expect(await settle(bench.store, mine.claim, '0.5')).toBe(true)
    expect(await bench.store.admissions.usage(key.id, bench.clock.now())).toMatchObject({
      requestsInProgress: 1,
      reserved: usd('0.5'),
      spendDay: usd('0.5'),
    })
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('one Idempotency-Key at both runs once, is charged once, and is free again when its node dies', async () => {
    const { key } = await bench.issue()
    const repeat = aRepeat('order 66')
    const ask = (node: readonly [GatewayStore, Clock]) =>
      untilCurrent(async () => {
        const claim = { ...claimAt(node, key, '0.5'), repeat }
        const verdict = await node[0].admissions.admit(claim)
        if (verdict === 'stale') return verdict
        const is = 'repetition' in verdict ? verdict.repetition.is : null
        return { claim, store: node[0], is }
      })
    const first = await Promise.all(nodes().map(ask))
    expect(first.map(({ is }) => is).sort()).toEqual([null, 'running'])
    await bench.store.admissions.expire(
      first.map(({ claim }) => claim.owner.epoch),
      bench.clock.now(),
    )
    const again = await join(bench.store, ahead)
    const { claim, is } = await ask([again, ahead])
    expect(is).toBeNull()
    const { keyId, generationId, at: keptAt } = claim
    const answer = { keyId, repeat, generationId, contentType: 'text/plain', keptAt }
    const staged = await again.answers.stage({ ...answer, body: new Uint8Array(9) })
    const charge = aCharge(usd('0.5'))
    const activity = anActivity(claim, { cost: charge.amount, costRub: charge.costRub })
    const settlement = { at: keptAt, charge, activity, answer: staged }
    expect(await again.admissions.settle(generationId, settlement)).toBe(true)
    const repeated = await Promise.all(nodes().map(ask))
    expect(repeated.map((one) => one.is)).toEqual(['kept', 'kept'])
    expect(await balance(other)).toBe(usd('99.5'))
    expect((await bench.store.audit()).findings).toEqual([])
    await again.close()
  })

  test('around midnight, when one clock is past it, the books add up', async () => {
    const { key } = await bench.issue({ dailySpend: usd('1') })
    const midnight = Math.ceil(bench.clock.now() / DAY_MS) * DAY_MS
    bench.clock.advance(midnight - SKEW_MS / 2 - bench.clock.now())
    for (const { claim, store } of await admit(key, 4, '0.25')) await settle(store, claim, '0.25')
    expect(await balance(other)).toBe(usd('99'))
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('money, a revocation and a limit hold at the other from its next request', async () => {
    const { key, secret } = await bench.issue({ dailySpend: usd('0.01') })
    const amended = { dailySpend: usd('1') }
    await bench.store.keys.amend(key.id, { limits: amended }, anAct(bench.clock.now()))
    expect((await admit(key, 2, '0.5')).length).toBe(2)
    await other.ledger.credit(aTopUp(ahead.now(), usd('5')), anAct())
    expect(await balance(bench.store)).toBe(usd('105'))
    await other.keys.revoke(key.id, anAct(ahead.now()))
    for (const [store] of nodes()) {
      expect(await store.keys.findBySecret(secret, ahead.now())).toMatchObject({
        revokedAt: ahead.now(),
      })
    }
    expect((await admit(key, 2)).length).toBe(0)
  })

  test('a change of the catalogue at one holds from the next request of the other', async () => {
    const { key } = await bench.issue()
    const before = claimAt([other, ahead], key, '0.01')
    const act = anAct(bench.clock.now())
    await bench.store.rates.set(rate('91'), bench.clock.now(), act)
    expect(await other.admissions.admit(before)).toBe('stale')
    expect(other.catalogue.current().rates[0]).toMatchObject({ rubPerUsd: rate('91') })
    expect((await admit(key, 2)).length).toBe(2)
  })

  test('a notice and a mail are claimed by one of two', async () => {
    const { clock } = bench
    await bench.store.notices.post([aNotice(clock.now())], anAct())
    const bound = { most: 9, withinMs: LEASE_MS }
    const mail = { to: 'a@example.org', subject: 'Code', text: 'a', html: 'b' }
    const code = {
      interaction: 'i1',
      email: 'a@example.org',
      digest: 'ef'.repeat(32),
      peer: '192.0.2.9',
      site: null,
      issuedAt: clock.now(),
      expiresAt: later(clock.now(), 10 * LEASE_MS),
    }
    const bounds = { perPair: bound, network: null, lookbackMs: LEASE_MS }
    const id = newEventId(clock.now())
    await other.signin.mailCodes.issue(code, bounds, { id, mail })
    const until = later(ahead.now(), LEASE_MS)
    const mailsOf = async ({ signin }: GatewayStore) =>
      (await signin.codeMails.claim(ahead.now(), until, 9)).mails
    const noticesOf = ({ notices }: GatewayStore) => notices.claim(ahead.now(), until, 9)
    // Each first by the one that did not write it.
    expect(await mailsOf(bench.store)).toMatchObject([{ id, tries: 0 }])
    expect(await mailsOf(other)).toEqual([])
    expect(await noticesOf(other)).toHaveLength(1)
    expect(await noticesOf(bench.store)).toEqual([])
  })

  test('of two who write one session, one has to read it again', async () => {
    const session = {
      kind: 'Session',
      digest: 'cd'.repeat(32),
      payload: '{}',
      grantId: null,
      uid: 'u',
      personId: null,
      clientId: null,
      consumedAt: null,
      expiresAt: later(bench.clock.now(), LEASE_MS),
    }
    expect(await putArtifact(bench.store.signin, session)).toBe(true)
    const add = async (signin: SigninStore, app: string): Promise<void> => {
      const found = await signin.artifacts.find('Session', session.digest)
      const payload = JSON.stringify({ ...JSON.parse(found?.payload ?? ''), [app]: 1 })
      const version = found?.version ?? 0
      const isWritten = await putArtifact(signin, { ...session, payload }, { version })
      if (!isWritten) await add(signin, app)
    }
    const apps = Array.from({ length: 6 }, (_, nth) => `app-${nth}`)
    await Promise.all(
      apps.map((app, nth) => add((nth % 2 === 0 ? bench.store : other).signin, app)),
    )
    const kept = await other.signin.artifacts.find('Session', session.digest)
    expect(Object.keys(JSON.parse(kept?.payload ?? '{}')).sort()).toEqual(apps)
  })

  test('at a first start of both, one signing key and one secret', async () => {
    const added = await Promise.all(
      nodes().map(async ([{ signin }, { now }]) =>
        signin.keyring.addSigningKey(await aSigningKey(now()), null, null),
      ),
    )
    expect(added.filter((isFirst) => isFirst)).toHaveLength(1)
    const secrets = nodes().map(([{ signin }], nth) => signin.keyring.secret('cookies', `${nth}`))
    const [one, two] = await Promise.all(secrets)
    expect(one).toBe(two)
  })
}
