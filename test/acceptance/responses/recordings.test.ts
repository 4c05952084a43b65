// Every recorded answer of the Responses API passes byte for byte and is charged by its count; cut short it ends in words.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nanos, openHolds, until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import { finishedAnswers, priceOf, recordedAnswers, textOf } from './recorded.ts'
import { openResponses, type ResponsesGateway, replayed } from './scripted.ts'

describe.skipIf(finishedAnswers.length === 0)('a recorded answer', () => {
  let setup: ResponsesGateway
  beforeAll(async () => {
    setup = await openResponses()
  })
  afterAll(async () => await setup?.close())

  const ask = async (recording: (typeof recordedAnswers)[number]) => {
    const answer = await setup.ask({
      model: 'openai/m',
      input: 'hi',
      ...(recording.response.sse !== undefined && { stream: true }),
    })
    return { answer, text: await answer.text(), id: answer.headers.get('x-generation-id') ?? '' }
  }
  const chargeOf = async (generation: string): Promise<bigint> => {
    const list = await setup.gateway.verb('ledger.list', { kind: 'charge', limit: 10_000 })
    const found = list.filter((entry) => entry.generation_id === generation)
    return found.reduce((sum, entry) => sum - nanos(entry.amount_usd), 0n)
  }

  test.each(finishedAnswers)(
    '$name passes as it came, in every size of pieces, at its price',
    async (one) => {
      const bytes = Buffer.byteLength(textOf(one))
      const sizes =
        FULL && bytes < 6_000 ? [1, 7, Number.POSITIVE_INFINITY] : [97, Number.POSITIVE_INFINITY]
      for (const size of sizes) {
        setup.play(replayed(one.response, size))
        const { answer, text, id } = await ask(one)
        expect(answer.status).toBe(200)
        expect(text).toBe(textOf(one))
        const charge = await chargeOf(id)
        expect(charge).toBe(priceOf(text))
        expect(charge).toBeGreaterThan(0n)
      }
    },
  )

  const streams = finishedAnswers.filter(({ response }) => response.sse !== undefined)
  test.each(streams)(
    'W28: $name, cut anywhere, ends in an error and response.failed',
    async (one) => {
      const text = textOf(one)
      const last = text.search(
        /event: response\.(?:completed|incomplete)|data: \{"response".*response\.completed/,
      )
      const end = last > 0 ? last : Math.floor(text.length * 0.9)
      for (let n = 1; n <= (FULL ? 10 : 2); n++) {
        const cutAt = Math.floor((Buffer.byteLength(text.slice(0, end)) * n) / (FULL ? 11 : 3))
        setup.play(replayed(one.response, Number.POSITIVE_INFINITY, cutAt))
        const { answer, text: got } = await ask(one)
        if (answer.status !== 200) {
          expect(answer.status).toBe(502)
          continue
        }
        const events = [...got.matchAll(/^event: (.+)$/gm)].map(([, name]) => name)
        expect(events.slice(-2)).toEqual(['error', 'response.failed'])
        const frames = got.trimEnd().split('\n\n').slice(-2)
        const [error, failed] = frames.map((frame) =>
          JSON.parse(frame.slice(frame.indexOf('data: ') + 6)),
        )
        expect(error).toMatchObject({ type: 'error', error: { code: 'upstream_error' } })
        expect(failed.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
        expect(failed.sequence_number).toBe(error.sequence_number + 1)
        // What passed before it is the provider's, to the byte.
        expect(text.startsWith(got.slice(0, got.indexOf('event: error')))).toBe(true)
      }
      await until(() => openHolds(setup.cli) === 0, 'nothing stays held')
    },
  )

  test('a failure in the middle of a stream is told in the words of the gateway', async () => {
    const [one] = recordedAnswers.filter(({ name }) => name === 'error-in-stream-fixture')
    if (!one) return
    setup.play(replayed(one.response))
    const { answer, text } = await ask(one)
    expect(answer.status).toBe(200)
    const events = [...text.matchAll(/^event: (.+)$/gm)].map(([, name]) => name)
    expect(events).toEqual(['response.created', 'response.in_progress', 'error', 'response.failed'])
    expect(text).toContain('rate_limit_exceeded')
    expect(text).toMatch(/Please try again in \d+s/)
  })
})
