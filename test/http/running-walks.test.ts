// A client is watched while its walk runs, and no longer: a slow reader of its answer must not keep the walk in memory.
import { expect, test } from 'vitest'
import { systemClock } from '#domain/clock.ts'
import { type CompletionDeps, Walk } from '#domain/walk/walk.ts'
import { RunningWalks } from '#http/running-walks.ts'
import { noteArrival } from '#test/support/arrival.ts'
import { aKey, aRequest } from '#test/support/nouns.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

/** A walk whose client's signal is counted when it is made. */
function open() {
  const controller = new AbortController()
  let made = 0
  const client = {
    get signal() {
      made++
      return controller.signal
    },
  }
  const running = new RunningWalks()
  const caller = { key: aKey(systemClock.now()), requestId: 'r', ...noteArrival(systemClock) }
  let ended = 0
  const walk = new Walk({} as CompletionDeps, caller, aRequest(), null)
  walk.client = client
  running.add(walk)
  const remove = walk.ended
  walk.ended = () => {
    remove?.(walk)
    ended++
  }
  let left = 0
  walk.reader = { left: () => void left++ }
  const counts = { made: () => made, left: () => left, ended: () => ended }
  return { controller, running, walk, ...counts }
}

test('its client disconnects while it runs: it is left, once', async () => {
  const { controller, walk, made, left } = open()
  expect(made()).toBe(0)
  await eventually(() => made() === 1, 'its client is watched')
  controller.abort()
  await eventually(() => left() === 1, 'it is left')
  expect(walk.signal.aborted).toBe(true)
})

test('its client disconnects after it has ended: nothing refers to it any more', async () => {
  const { controller, running, walk, made, left, ended } = open()
  await eventually(() => made() === 1, 'its client is watched')
  walk.end()
  walk.end()
  expect([walk.client, running.count, ended()]).toEqual([null, 0, 1])
  controller.abort()
  await Bun.sleep(0)
  expect(left()).toBe(0)
})

test('an answer that ends at once costs no signal', async () => {
  const { walk, made } = open()
  walk.end()
  const next = open()
  await eventually(() => next.made() === 1, 'the next is watched')
  expect(made()).toBe(0)
})
