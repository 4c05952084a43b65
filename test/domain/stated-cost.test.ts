// What a provider says that it charges is written down beside the charge, and never becomes it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChatEvent } from '#domain/chat.ts'
import { aRequest, usd } from '#test/support/nouns.ts'
import { finish, text } from '#test/support/scripted-upstream.ts'
import { COUNTED, IMAGE, openWalkBench, says, type WalkBench } from './walk/walking.ts'

let bench: WalkBench
beforeEach(async () => {
  bench = await openWalkBench()
})
afterEach(() => bench.store.close())

const linesOf = async (events: readonly ChatEvent[], model?: string) => {
  const wishes = model ? { model, wantsImages: true } : {}
  const { caller } = await bench.walk(bench.depsOf(says(events)), aRequest(wishes))
  return bench.books(caller)
}

test.each(['0', '0.000000001', '9000'])(
  'a stated cost of $%s leaves the charge as it is',
  async (cost) => {
    const stated = { ...COUNTED, statedCost: usd(cost) } as ChatEvent
    const { charged, line } = await linesOf([text('Hello'), finish(), stated])
    expect(charged).toBe(85_000n)
    expect(line).toMatchObject({ statedCost: usd(cost), usageSource: 'provider' })
  },
)

test('without one, none is written down', async () => {
  expect((await linesOf([text('Hello'), finish(), COUNTED])).line.statedCost).toBeNull()
})

test('one without a count leaves the estimate, and the piece, as they are', async () => {
  const alone: ChatEvent = { type: 'usage', usage: null, statedCost: usd('0.02') }
  const spoken = await linesOf([text('1234567890'), finish(), alone])
  expect(spoken.charged).toBe(usd('0.0000925'))
  expect(spoken.line).toMatchObject({ statedCost: usd('0.02'), usageSource: 'estimated' })
  const drawn = await linesOf([IMAGE, finish(), alone], 'acme/pixel')
  const silent = await linesOf([IMAGE, finish()], 'acme/pixel')
  expect(drawn.charged).toBe(silent.charged)
  expect(drawn.line).toMatchObject({ statedCost: usd('0.02'), usageSource: 'estimated' })
})
