// Idempotency: an answer is stored before its last byte is sent, and a failure to store it never fails the request.
import { expect, test } from 'vitest'
import type { Admissions } from '#domain/admission.ts'
import type { Answers } from '#domain/idempotency.ts'
import { newSecret } from '#domain/secret.ts'
import { RunningWalks } from '#http/running-walks.ts'
import { type Furnished, furnish, hello, openApi } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

/** An API whose store waits for permission before it stores an answer. */
async function openGated() {
  const deps = await furnish()
  const { bearer, key } = await deps.issue()
  const { promise, resolve } = Promise.withResolvers<void>()
  let asked = 0
  const { answers } = deps.store
  const gated = withAnswers(deps, {
    async stage(answer) {
      asked++
      await promise
      return await answers.stage(answer)
    },
  })
  const running = new RunningWalks()
  const { chat } = openApi(gated, { running })
  return {
    running,
    let: resolve,
    forbid: () =>
      deps.store.keys.amend(key.id, { limits: { allowedModels: ['other/*'] } }, anAct()),
    countLines: async () => (await deps.store.activity.list({ limit: 10 })).length,
    countCharges: async () => (await deps.store.ledger.list({ kind: 'charge', limit: 10 })).length,
    asked: () => eventually(() => asked > 0, 'it is to be kept'),
    ask: async (body: unknown) => await chat(bearer, body, { 'Idempotency-Key': 'k' }),
  }
}

const withAnswers = (deps: Furnished, answers: Partial<Answers>): Furnished => ({
  ...deps,
  store: { ...deps.store, answers: { ...deps.store.answers, ...answers } },
})

test('a whole answer is sent once it is stored; until then a retry is told that it is running', async () => {
  const gate = await openGated()
  let left = false
  const asked = gate.ask(hello()).then((response) => {
    left = true
    return response
  })
  await gate.asked()
  expect(left).toBe(false)
  expect(gate.running.count).toBe(1)
  expect((await gate.ask(hello())).status).toBe(409)
  gate.let()
  expect((await asked).status).toBe(200)
  expect(gate.running.count).toBe(0)
  expect((await gate.ask(hello())).headers.get('idempotent-replayed')).toBe('true')
})

test.each([false, true])(
  'a request is charged once, when its answer is stored (stream: %s)',
  async (stream) => {
    const gate = await openGated()
    const asked = gate.ask(hello({ stream })).then((response) => response.text())
    await gate.asked()
    expect(await gate.countCharges()).toBe(0)
    gate.let()
    await asked
    expect(await gate.countCharges()).toBe(1)
    expect((await gate.ask(hello({ stream }))).headers.get('idempotent-replayed')).toBe('true')
    expect(await gate.countCharges()).toBe(1)
  },
)

test('the end of a stream is sent once the answer is stored', async () => {
  const gate = await openGated()
  const response = await gate.ask(hello({ stream: true }))
  let said = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      said += decoder.decode(piece)
    }
  })()
  await gate.asked()
  expect(said).toContain('world')
  expect(said).not.toContain('"usage"')
  expect(gate.running.count).toBe(1)
  gate.let()
  await reading
  expect(said).toContain('"usage"')
  const again = await gate.ask(hello({ stream: true }))
  expect(await again.text()).toBe(said)
})

test('a client that disconnects while its answer is being stored finds it on retry', async () => {
  const gate = await openGated()
  const response = await gate.ask(hello({ stream: true }))
  const reader = response.body?.getReader()
  const reading = (async () => {
    while (!(await reader?.read())?.done);
  })()
  await gate.asked()
  await reader?.cancel()
  await reading
  expect((await gate.ask(hello({ stream: true }))).status).toBe(409)
  expect(gate.running.count).toBe(1)
  gate.let()
  await eventually(() => gate.running.count === 0, 'the walk is over')
  const again = await gate.ask(hello({ stream: true }))
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await gate.countCharges()).toBe(1)
})

test.each([
  ['refuses', async () => null],
  ['fails', () => Promise.reject(new Error('no room'))],
])('a store that %s to keep an answer does not fail the request', async (_, stage) => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  const { chat } = openApi(withAnswers(deps, { stage }))
  for (const stream of [false, true]) {
    for (let n = 0; n < 2; n++) {
      const response = await chat(bearer, hello({ stream }), { 'Idempotency-Key': `k ${stream}` })
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('world')
    }
  }
  expect(await deps.store.ledger.list({ kind: 'charge', limit: 10 })).toHaveLength(4)
})

test('a request that cannot be admitted for trouble with the store leaves the idempotency key free', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  let broken = true
  const { admissions } = deps.store
  const admit: Admissions['admit'] = async (claim) => {
    if (broken) throw new Error('unreadable')
    return await admissions.admit(claim)
  }
  const store = { ...deps.store, admissions: { ...admissions, admit } }
  const { chat } = openApi({ ...deps, store })
  const ask = () => chat(bearer, hello(), { 'Idempotency-Key': 'k' })
  expect((await ask()).status).toBe(500)
  broken = false
  expect((await ask()).status).toBe(200)
  expect(await deps.store.ledger.list({ kind: 'charge', limit: 10 })).toHaveLength(1)
})

test('a retry is answered whatever the catalogue and the key’s list have become', async () => {
  const gate = await openGated()
  const first = gate.ask(hello())
  await gate.asked()
  await gate.forbid()
  expect((await gate.ask(hello())).status).toBe(409)
  expect((await gate.ask(hello({ n: 2 }))).headers.get('x-should-retry')).toBe('false')
  gate.let()
  const said = await (await first).text()
  const again = await gate.ask(hello())
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  expect(await again.text()).toBe(said)
  expect((await gate.ask(hello({ n: 2 }))).status).toBe(409)
  expect(await gate.countCharges()).toBe(1)
  expect(await gate.countLines()).toBe(1)
})

test('a request without the header does not query the store', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  const touched = () => Promise.reject(new Error('the store was asked'))
  const { chat } = openApi(withAnswers(deps, { find: touched, stage: touched }))
  for (const stream of [false, true]) {
    const response = await chat(bearer, hello({ stream }))
    expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, null])
    await response.text()
  }
})

test('an API key is refused as an idempotency key, and is not stored', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  const { chat } = openApi(deps)
  const response = await chat(bearer, hello(), { 'Idempotency-Key': `again ${newSecret()}` })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_request', param: 'Idempotency-Key' },
  })
})

test('another body under the same key is not worth a retry, a running request is', async () => {
  const gate = await openGated()
  const first = gate.ask(hello())
  await gate.asked()
  const running = await gate.ask(hello())
  const other = await gate.ask(hello({ n: 2 }))
  gate.let()
  await (await first).text()
  const later = await gate.ask(hello({ n: 2 }))
  expect(
    [running, other, later].map(({ status, headers }) => [status, headers.get('x-should-retry')]),
  ).toEqual([
    [409, null],
    [409, 'false'],
    [409, 'false'],
  ])
})
