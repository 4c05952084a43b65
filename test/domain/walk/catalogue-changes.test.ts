// The catalogue, or the key, changes between what a request is offered and its admission: it is judged by what stands then.
import { beforeEach, expect, test, vi } from 'vitest'
import type { Admissions, Claim } from '#domain/admission.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { RequestRefused } from '#domain/walk/completion.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import { admitClaim } from '#test/support/admit.ts'
import { anAdmissionQueue } from '#test/support/an-admission-queue.ts'
import {
  aClaim,
  anAccount,
  anAct,
  anActivity,
  aRequest,
  aTopUp,
  aVersion,
  perM,
  rate,
  usd,
} from '#test/support/nouns.ts'
import type { Script } from '#test/support/scripted-upstream.ts'
import { COUNTED, openWalkBench, says, type WalkBench } from './walking.ts'

let bench: WalkBench
let claims: Claim[]
let provider: Script
beforeEach(async () => {
  bench = await openWalkBench()
  claims = []
  provider = says([COUNTED])
})

/** A gateway whose admissions note every claim, and do something else before they judge it. */
function depsWith(before: (claim: Claim) => Promise<unknown> = async () => {}): CompletionDeps {
  const { store, clock } = bench
  const admissions: Admissions = {
    ...store.admissions,
    async admit(claim) {
      claims.push(claim)
      await before(claim)
      return await store.admissions.admit(claim)
    },
  }
  const deps = bench.depsOf(provider)
  return {
    ...deps,
    store: { ...store, admissions },
    queue: anAdmissionQueue({ admissions, answers: bench.store.answers }, clock, 30_000),
  }
}

const now = () => bench.clock.now()
const version = () => bench.store.catalogue.current().version

/** Ten times the price: what costs $0.000085 costs $0.00085 then. */
const makeDear = () =>
  bench.store.models.price(
    'acme/small',
    aVersion({ prompt: perM('25'), completion: perM('100') }, now()),
    anAct(now()),
  )

/** Holds money for another request, all that there is; what it returns gives it back. */
async function hold(
  deps: CompletionDeps,
  amount = '10',
  accountId: AccountId = 'acct_1',
): Promise<() => Promise<void>> {
  const caller = await bench.call()
  const key = { ...caller.key, accountId }
  if (accountId !== caller.key.accountId) await bench.store.keys.move(key.id, accountId, anAct())
  const claim = { ...aClaim(key, now(), usd(amount)), catalogue: version() }
  expect(await admitClaim(bench.store.admissions, claim)).toMatchObject({ admitted: true })
  return async () => {
    const activity = anActivity(claim)
    await bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: now(),
      charge: null,
      activity,
    })
    deps.queue.released(claim.accountId)
  }
}

const refusalOf = ({ thrown }: { readonly thrown: unknown }) => {
  expect(thrown).toBeInstanceOf(RequestRefused)
  return (thrown as RequestRefused).error
}

test('while it waits for money: it is charged at the price that stands when it is admitted', async () => {
  const deps = depsWith()
  const giveBack = await hold(deps)
  const walking = bench.walk(deps)
  await vi.waitFor(() => expect(claims).not.toEqual([]))
  await makeDear()
  await giveBack()
  const walked = await walking
  expect((await bench.books(walked.caller)).charged).toBe(850_000n)
  expect(claims.at(-1)?.catalogue).toBe(version())
})

test('while it waits for money: a model that is gone is refused as one that is gone', async () => {
  const deps = depsWith()
  const giveBack = await hold(deps)
  const walking = bench.walk(deps)
  await vi.waitFor(() => expect(claims).not.toEqual([]))
  await bench.store.models.remove('acme/small', anAct())
  await giveBack()
  const walked = await walking
  expect(refusalOf(walked).code).toBe('model_not_found')
  expect((await bench.books(walked.caller)).charges).toBe(0)
})

test('while it waits for money: a model that its key may no longer call is refused', async () => {
  const deps = depsWith()
  const giveBack = await hold(deps)
  const walking = bench.walk(deps)
  await vi.waitFor(() => expect(claims).not.toEqual([]))
  const limits = { allowedModels: ['acme/pixel'] }
  await bench.store.keys.amend(claims[0]?.keyId as KeyId, { limits }, anAct())
  await giveBack()
  const walked = await walking
  expect(refusalOf(walked).code).toBe('model_not_allowed')
  expect((await bench.books(walked.caller)).charges).toBe(0)
})

test('while it waits for money: a lower bound of its key is what it is asked with', async () => {
  const deps = depsWith()
  const giveBack = await hold(deps)
  const walking = bench.walk(deps)
  await vi.waitFor(() => expect(claims).not.toEqual([]))
  const limits = { maxOutputTokens: 7 }
  await bench.store.keys.amend(claims[0]?.keyId as KeyId, { limits }, anAct())
  await giveBack()
  await walking
  expect(claims.at(-1)?.offers[0]).toMatchObject({ full: 7 })
  expect(provider.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([7])
})

test('while it waits for money: a key that is given to another account waits there, and nobody here behind it', async () => {
  const other = anAccount({ id: 'acct_2', name: 'other' })
  await bench.store.accounts.create(other, anAct())
  await bench.store.ledger.credit(aTopUp(now(), usd('10'), { accountId: other.id }), anAct())
  const deps = depsWith()
  const giveBackThere = await hold(deps, '10', other.id)
  const giveBack = await hold(deps)
  const walking = bench.walk(deps)
  await vi.waitFor(() => expect(claims).not.toEqual([]))
  await bench.store.keys.move(claims[0]?.keyId as KeyId, other.id, anAct())
  await vi.waitFor(() => expect(claims.at(-1)?.accountId).toBe(other.id), 5_000)
  await giveBack()
  expect((await bench.walk(deps)).thrown).toBeUndefined()
  await giveBackThere()
  const walked = await walking
  expect(walked.thrown).toBeUndefined()
  const { charged, line } = await bench.books(walked.caller)
  expect([charged, line.accountId]).toEqual([85_000n, other.id])
})

test('before an engine that answers later has judged it: it is offered anew, and admitted once', async () => {
  const walked = await bench.walk(
    depsWith(async () => {
      if (claims.length === 1) await makeDear()
    }),
  )
  expect(claims).toHaveLength(2)
  expect((await bench.books(walked.caller)).charged).toBe(850_000n)
})

test('before an engine that answers later would refuse it: it is refused nothing that no longer holds', async () => {
  const dearest = aVersion({ prompt: perM('90000000') }, now())
  await bench.store.models.price('acme/small', dearest, anAct(now()))
  const giveBack = await hold(bench.depsOf(says([])), '5')
  const refused = await bench.walk(bench.depsOf(says([COUNTED])))
  expect(refusalOf(refused).code).toBe('spend_reserved')
  const deps = depsWith(async () => {
    if (claims.length === 1) await makeDear()
  })
  const queue = anAdmissionQueue(deps.store, bench.clock)
  const { thrown } = await bench.walk({ ...deps, queue })
  expect(thrown).toBeUndefined()
  await giveBack()
})

test('each time that it is offered anew: it is refused in the end, and may be sent again', async () => {
  const changing = depsWith(() => bench.store.rates.set(rate('91'), now(), anAct(now())))
  const walked = await bench.walk(changing, aRequest())
  expect(refusalOf(walked)).toMatchObject({
    code: 'store_unavailable',
    details: { retryAfterSeconds: 1 },
  })
  expect(claims.length).toBeGreaterThan(1)
  expect((await bench.books(walked.caller)).charges).toBe(0)
})
