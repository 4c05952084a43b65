// A complete answer whose request is aborted while its charge is being committed is charged and still sent.
import { expect, test } from 'vitest'
import { GatewayError } from '#domain/errors.ts'
import { RunningWalks } from '#http/running-walks.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'

test('a complete answer is sent although its request is aborted during settlement', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  const running = new RunningWalks()
  const { admissions } = deps.store
  const store = {
    ...deps.store,
    admissions: {
      ...admissions,
      async settle(...ended: Parameters<typeof admissions.settle>) {
        for (const walk of running.list()) walk.abort(new GatewayError('shutting_down', 'enough'))
        return await admissions.settle(...ended)
      },
    },
  }
  const { chat } = openApi({ ...deps, store }, { running })
  const response = await chat(bearer, hello())
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ object: 'chat.completion' })
  expect(await store.ledger.list({ kind: 'charge', limit: 10 })).toHaveLength(1)
  await store.close()
})

test.each([false, true])(
  'what others have ended meanwhile is no answer; streamed: %j',
  async (stream) => {
    const deps = await furnish()
    const { bearer } = await deps.issue()
    const { admissions } = deps.store
    const store = {
      ...deps.store,
      admissions: {
        ...admissions,
        async settle(...[id, settlement]: Parameters<typeof admissions.settle>) {
          await admissions.settle(id, { ...settlement, charge: null })
          return await admissions.settle(id, settlement)
        },
      },
    }
    const { chat } = openApi({ ...deps, store })
    const response = await chat(bearer, hello({ stream }))
    expect(response.status).toBe(stream ? 200 : 503)
    const said = await response.text()
    expect(said).toContain('ended elsewhere')
    expect(said).not.toMatch(/"cost":(?!0\b)/)
    expect(await store.ledger.list({ kind: 'charge', limit: 10 })).toHaveLength(0)
    await store.close()
  },
)
