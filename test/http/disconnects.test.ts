// A walk is watched while it runs, and no longer: a slow reader of its answer must not keep it in memory.
import { expect, test } from 'vitest'
import { createDisconnects } from '#http/disconnects.ts'
import type { RequestContext } from '#http/request-context.ts'
import type { RunningWalk } from '#http/running-walks.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

function open() {
  const client = new AbortController()
  const request = new Request('http://gateway.test', { signal: client.signal })
  let left = 0
  const walk = {
    async leave() {
      left++
    },
  } as RunningWalk
  const context = { request, unwatched: null, unwatch: null } as unknown as RequestContext
  const disconnects = createDisconnects()
  disconnects.watch(context, walk)
  return { client, context, disconnects, countLeft: () => left }
}

test('its client disconnects while it runs: it is left, once', async () => {
  const { client, context, countLeft } = open()
  await eventually(() => context.unwatch !== null, 'it is watched')
  client.abort()
  await eventually(() => countLeft() === 1, 'it is left')
})

test('its client disconnects after it has ended: nothing refers to it any more', async () => {
  const { client, context, disconnects, countLeft } = open()
  await eventually(() => context.unwatch !== null, 'it is watched')
  disconnects.forget(context)
  expect(context.unwatch).toBeNull()
  client.abort()
  await Bun.sleep(0)
  expect(countLeft()).toBe(0)
})
