/** Expectations for replayed answers: text, usage and price; or the typed error, and the price of the received part. */
import * as sdk from 'openai'
import { expect } from 'vitest'
import { activityOf, openHolds } from '#test/support/appliance.ts'
import { readSse } from '#test/support/read-sse.ts'
import { readRecording } from '#test/support/replay.ts'
import { amountOf, billOf } from './bill.ts'
import type { Said } from './heard.ts'
import { type Case, CREDENTIAL, type ReplayGateway, type Seen, toBody } from './replay-gateway.ts'
import type { Truth } from './truth.ts'

/** One answer beside its recording, and what the ledger has of it. */
export interface Judged {
  readonly one: Case
  readonly seen: Seen
  readonly setup: ReplayGateway
  /** Nano-dollars; one for each entry of its generation. */
  readonly charged: readonly bigint[]
  /** Says which answer it was, should it be wrong. */
  readonly where: string
}

/** Everything the recording says, at its price. */
export function expectAnswer(judged: Judged): void {
  const { one, seen, where } = judged
  expect(seen.error, where).toBeNull()
  expect(seen.said, where).toEqual(asSeen(one.truth.said))
  expect(seen.finish, where).toBe(one.truth.finish)
  expectBill(judged, seen.usage)
}

/** What came before the break; then the error, the usage and the end, and the price of what came. */
export function expectBroken(judged: Judged): void {
  const { one, seen, setup, where } = judged
  const [, code] = refusalFor(one.truth)
  expect(seen.error, where).toBeInstanceOf(sdk.APIError)
  expect({ status: seen.error.status, code: seen.error.code }, where).toEqual({
    status: undefined,
    code: code === 'context_length_exceeded' ? 'invalid_request' : code,
  })
  expect(seen.said, where).toEqual(asSeen(one.truth.said))
  const { chunks, done } = readSse(seen.body)
  const [failed, counted] = chunks.slice(-2)
  expect(failed, where).toMatchObject({ choices: [{ finish_reason: 'error' }], error: { code } })
  expect(counted, where).toMatchObject({ choices: [] })
  expect(done, where).toBe(true)
  expectBill(judged, counted?.usage)
  expect(judged.charged[0], where).toBeGreaterThan(0n)
  expect(activityOf(setup.cli, seen.generation), where).toMatchObject({
    ended_by: 'upstream',
    usage_source: billOf(one.truth, '').source,
    cost_nanos: Number(judged.charged[0]),
  })
}

/** A typed error of the contract, for nothing. Where a word of no content has left before, the error is a chunk. */
export function expectRefused(judged: Judged): void {
  const { one, seen, setup, charged, where } = judged
  const [status, code, kind] = refusalFor(one.truth)
  expect(seen.error, where).toBeInstanceOf(sdk.APIError)
  expect(seen.error.code, where).toBe(code)
  if (seen.error.status === undefined) expectFreeEnd(seen.body, where)
  else {
    expect(seen.error, where).toBeInstanceOf(kind)
    expect(seen.error.status, where).toBe(status)
  }
  expect(seen.error.error.metadata, where).toMatchObject({ provider: one.provider })
  const told = JSON.stringify(seen.error.error)
  expect(told, where).not.toContain(CREDENTIAL)
  expect(told, where).not.toMatch(/127\.0\.0\.1|https?:|org[-_]\w{8}|req_\w{8}|AIza/)
  expect(charged, where).toEqual([])
  expect(activityOf(setup.cli, seen.generation), where).toMatchObject({
    status,
    code,
    cost_nanos: 0,
  })
}

/** What an error says that came whole: the provider's status and wait, and where it is the caller's fault, its words. */
export function expectWholeError({ one, seen }: Judged): void {
  const { failure } = one.truth
  const { metadata } = seen.error.error
  expect(metadata.provider_status).toBe(failure?.status)
  if (seen.error.status === 400) expect(seen.error.message).toContain(failure?.text.slice(0, 20))
  if (seen.error.status === 503) {
    expect(Number(seen.error.headers.get('retry-after'))).toBe(waitOf(one))
  }
}

/** Nothing was charged but what had to be, nothing is held or in flight, and the balance is the sum. */
export async function expectNothingLeft(
  { gateway, cli, key, balanceBefore, balance }: ReplayGateway,
  cases: readonly Case[],
  charges: ReadonlyMap<string, readonly bigint[]>,
): Promise<void> {
  const amounts = [...charges.values()].flat()
  expect(amounts).toHaveLength(cases.filter(({ truth }) => truth.isCharged).length)
  const spent = amounts.reduce((sum, amount) => sum + amount, 0n)
  expect(await balance()).toBe(balanceBefore - spent)
  expect(openHolds(cli)).toBe(0)
  const headers = { authorization: `Bearer ${key}` }
  expect(await (await fetch(`${gateway.url}/v1/key`, { headers })).json()).toMatchObject({
    usage: { reserved_usd: '0', requests_in_progress: 0 },
  })
  expect(await gateway.verb('status', {})).toMatchObject({ in_flight: 0 })
  expect(await gateway.verb('doctor', {})).toMatchObject({ problems: 0 })
}

function expectFreeEnd(body: string, where: string): void {
  const { chunks, done } = readSse(body)
  const [failed, counted] = chunks.slice(-2)
  expect(failed, where).toMatchObject({ choices: [{ finish_reason: 'error' }] })
  expect(counted, where).toMatchObject({ choices: [], usage: { cost: 0, total_tokens: 0 } })
  expect(done, where).toBe(true)
}

function expectBill({ one, charged, where }: Judged, usage: unknown): void {
  const images = one.truth.said.images.length
  const bill = billOf(one.truth, JSON.stringify(toBody(one)))
  const { prompt, cached, written, completion, reasoning } = bill.count
  const amount = amountOf(bill, one.isByPiece ? images : 0)
  expect(usage, where).toMatchObject({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    images,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: reasoning },
    cost: Number(amount) / 1e9,
    cost_rub: Number((amount * 90n + 500n) / 1000n) / 1e6,
    cost_details: { source: bill.source },
  })
  expect(charged, where).toEqual([amount])
}

/** Where a provider gives its calls no ids the gateway makes some. */
const asSeen = ({ calls, ...said }: Said) => ({
  ...said,
  calls: calls.map((call) => ({
    ...call,
    id: call.id ?? expect.stringMatching(/^call_[0-9a-f]{32}$/),
  })),
})

type Refusal = readonly [status: number, code: string, kind: new (...args: never[]) => Error]

const OPERATORS_AFFAIR = /API key not valid/
const TOO_LONG = /maximum context length|prompt is too long/

/** Contract §3, last paragraph. */
function refusalFor({ failure }: Truth): Refusal {
  const { status, text } = failure ?? { status: 0, text: '' }
  if ([400, 404, 413, 422].includes(status) && !OPERATORS_AFFAIR.test(text)) {
    const code = TOO_LONG.test(text) ? 'context_length_exceeded' : 'invalid_request'
    return [400, code, sdk.BadRequestError]
  }
  if (status === 429 || status === 529) {
    return [503, 'upstream_overloaded', sdk.InternalServerError]
  }
  return [502, 'upstream_error', sdk.InternalServerError]
}

/** Whole seconds: a field, a field in milliseconds, Google's own detail, or the gateway's five. */
function waitOf({ recording }: Case): number {
  const { headers: stated, body } = readRecording(recording.name)
  const headers = new Headers(stated)
  const ms = headers.get('retry-after-ms')
  if (ms !== null) return Math.max(1, Math.ceil(Number(ms) / 1000))
  const delay = /"retryDelay":"([\d.]+)s"/.exec(JSON.stringify(body))?.[1]
  return Number(headers.get('retry-after') ?? (delay ? Math.ceil(Number(delay)) : 5))
}
