/** Why: a refusal replayed by today's limits, with the command that lifts it; an admitted request in words. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { FailedAttempt } from '#domain/activity.ts'
import type { ErrorMetadata } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { RequestRefused } from '#domain/walk/completion.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { createSessionRoutes } from '#domain/walk/session-routes.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import { anAdmissionQueue } from '#test/support/an-admission-queue.ts'
import { noteArrival } from '#test/support/arrival.ts'
import { anAccount, anAct, aRequest, usd } from '#test/support/nouns.ts'
import { walkSteps } from '#test/support/walk-steps.ts'
import { openUpstream } from '#upstream/registry.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

let deps: TestOperatorDeps
let gateway: CompletionDeps

beforeEach(async () => {
  deps = await openFurnished()
  await act(deps, 'balance.top-up', { amount_usd: '10' })
  gateway = {
    store: deps.store,
    clock: deps.clock,
    health: createHopHealth(deps.clock),
    sessions: createSessionRoutes(),
    queue: anAdmissionQueue(deps.store, deps.clock),
    settings: DEFAULT_SETTINGS,
    ended: () => {},
    upstreamFor: (provider) => openUpstream(provider, null),
  }
})

const keyNow = async (): Promise<ApiKey> =>
  (await deps.store.keys.search('default', 1))[0] as ApiKey

/** Asks as the API does. @returns the generation's id, whether it was refused or served */
async function ask(stated: Parameters<typeof aRequest>[0] = {}): Promise<string> {
  const caller = { key: await keyNow(), requestId: 'mine', ...noteArrival(deps.clock) }
  const request = aRequest({
    model: 'demo/echo',
    body: { messages: [{ role: 'user', content: 'hello' }] },
    ...stated,
  })
  try {
    for await (const step of walkSteps(gateway, caller, request, new AbortController().signal)) {
      if (step.type === 'admitted') id = step.generationId
    }
  } catch (thrown) {
    if (!(thrown instanceof RequestRefused)) throw thrown
    id = thrown.generationId
  }
  return id
}
let id = ''

const why = (text: string) => act(deps, 'why', { id: text })
const limit = (limits: object) => act(deps, 'limits.set', { keys: ['default'], ...limits })

describe('a refused request', () => {
  test('names the limit, its value, what was used, when it lifts, and the command', async () => {
    await limit({ rpm_limit: 2 })
    await ask()
    await ask()
    const refused = await ask()
    const { id: keyId } = await keyNow()
    const facts = {
      code: 'rate_limit_exceeded',
      message: 'key default used 2 of 2 requests in 60 seconds; a slot frees in 60 s',
      limit: 'rpm_limit',
      limit_of: null,
      limit_value: 2,
      used: 2,
      resets_at: '2026-08-23T12:01:00Z',
    }
    expect(await why(refused)).toEqual({
      id: refused,
      request_id: 'mine',
      created_at: '2026-08-23T12:00:00Z',
      key_id: keyId,
      key_name: 'default',
      user: null,
      surface: 'chat',
      session: null,
      node: null,
      model: 'demo/echo',
      routed_by: null,
      status: 429,
      code: 'rate_limit_exceeded',
      ended_by: 'refused',
      refusal: { ...facts, most_cost_usd: expect.stringMatching(/^0\.2/) },
      now: { admitted: false, refusal: facts },
      remedies: [`gatewayctl limits set ${keyId} --rpm 4`],
      story: [],
    })
  })

  test('is checked against the present limits, without using any of them', async () => {
    await limit({ rpm_limit: 1 })
    await ask()
    const refused = await ask()
    deps.clock.advance(60_000)
    for (let i = 0; i < 3; i++) expect((await why(refused)).now).toEqual(ADMITTED)
    // The limit is what it was, so that it may refuse again: the command stays.
    expect((await why(refused)).remedies).toHaveLength(1)
    await limit({ rpm_limit: 9 })
    expect(await why(refused)).toMatchObject({ now: ADMITTED, remedies: [] })
    await limit({ daily_spend_limit_usd: '0' })
    expect(await why(refused)).toMatchObject({
      refusal: { limit: 'rpm_limit', limit_value: 1 },
      now: { admitted: false, refusal: { limit: 'daily_spend_limit_usd', limit_value: '0' } },
      remedies: [`gatewayctl limits set ${(await keyNow()).id} --daily-usd 1.00`],
    })
  })

  test.each([
    ['rpd_limit', 3, '--rpd 6'],
    ['end_user_rpm', 3, '--end-user-rpm 6'],
    ['daily_spend_limit_usd', '0.000001', '--daily-usd 0.01'],
    ['monthly_spend_limit_usd', '0.000001', '--monthly-usd 0.01'],
    ['end_user_daily_usd', '0.000001', '--end-user-daily-usd 0.01'],
  ])('by %s: the command typed lets the request pass', async (name, value, flags) => {
    await limit({ [name]: value })
    let refused = ''
    for (let i = 0; i < 4; i++) refused = await ask({ endUser: 'ann' })
    const { id: keyId } = await keyNow()
    expect(await why(refused)).toMatchObject({
      user: 'ann',
      refusal: { limit: name, limit_value: value },
      now: { admitted: false },
      remedies: [`gatewayctl limits set ${keyId} ${flags}`],
    })
    const [, raised = ''] = flags.split(' ')
    await limit({ [name]: typeof value === 'number' ? Number(raised) : raised })
    expect(await why(refused)).toMatchObject({ now: ADMITTED, remedies: [] })
  })

  test('by the tokens of an answer is lifted by twice what the request needs', async () => {
    await limit({ max_output_tokens: 1_000 })
    const { remediesFor } = await import('#operator/why/remedies.ts')
    const key = await keyNow()
    const remedies = (metadata: ErrorMetadata) =>
      remediesFor(
        { code: 'invalid_request', metadata },
        { key, model: 'demo/echo', accountName: 'default' },
      )
    const flags = { limit: 'max_output_tokens', limit_value: 1_000 }
    const command = `gatewayctl limits set ${key.id} --max-output-tokens`
    expect(remedies({ ...flags, used: 4_000 })).toEqual([`${command} 8000`])
    expect(remedies({ ...flags, used: null })).toEqual([`${command} 2000`])
    expect(remedies({ limit: 'max_body_bytes', limit_value: 1 })).toEqual([])
  })

  test('of a ceiling that was passed by far is lifted by twice what is spent', async () => {
    await limit({ daily_spend_limit_usd: '1' })
    const refusal = { limit: 'daily_spend_limit_usd', limit_value: '1.00', used: '3.219999999' }
    const { remediesFor } = await import('#operator/why/remedies.ts')
    const key = await keyNow()
    expect(
      remediesFor(
        { code: 'daily_spend_limit_exceeded', metadata: refusal },
        { key, model: 'm', accountName: 'default' },
      ),
    ).toEqual([`gatewayctl limits set ${key.id} --daily-usd 6.44`])
  })

  test('outside the allow-list: the list and the model, as a shell reads them', async () => {
    await limit({ allowed_models: ['demo/lorem', 'acme/*'] })
    const refused = await ask()
    const { id: keyId } = await keyNow()
    expect(await why(refused)).toMatchObject({
      refusal: { limit: 'allowed_models', used: 'demo/echo', most_cost_usd: null },
      now: { admitted: false, refusal: { code: 'model_not_allowed' } },
      remedies: [
        `gatewayctl limits set ${keyId} --allow demo/lorem --allow 'acme/*' --allow demo/echo`,
      ],
    })
    await act(deps, 'models.alias.set', { name: 'usual', model: 'demo/echo' })
    expect(await why(await ask({ model: 'usual' }))).toMatchObject({
      refusal: { used: 'usual' },
      remedies: [expect.stringMatching(/ --allow demo\/echo$/)],
    })
    await limit({ allowed_models: null })
    expect(await why(refused)).toMatchObject({ now: ADMITTED, remedies: [] })
  })

  test('without money: a top-up, of the account whose it is', async () => {
    await act(deps, 'balance.adjust', { amount_usd: '-10', note: 'spent elsewhere' })
    const refused = await ask()
    expect(await why(refused)).toMatchObject({
      refusal: { code: 'insufficient_balance', limit: 'balance_usd', resets_at: null },
      now: { admitted: false },
      remedies: ['gatewayctl balance top-up 10'],
    })
    await act(deps, 'balance.top-up', { amount_usd: '10' })
    expect(await why(refused)).toMatchObject({ now: ADMITTED, remedies: [] })
  })

  test('of another account is lifted there', async () => {
    await deps.store.accounts.create(anAccount({ id: 'acct_2', name: "Ann's" }), anAct())
    await act(deps, 'keys.create', { name: 'poor', account: "Ann's" })
    const key = (await deps.store.keys.search('poor', 1))[0] as ApiKey
    const caller = { key, requestId: 'r', ...noteArrival(deps.clock) }
    const walk = walkSteps(
      gateway,
      caller,
      aRequest({ model: 'demo/echo' }),
      new AbortController().signal,
    )
    await expect(walk.next()).rejects.toBeInstanceOf(RequestRefused)
    expect(await why('r')).toMatchObject({
      remedies: ["gatewayctl balance top-up 10 --account 'Ann'\\''s'"],
    })
  })

  test('of a model that is unknown, unpriced or without a provider', async () => {
    const unknown = await ask({ model: 'demo/none' })
    expect(await why(unknown)).toMatchObject({
      refusal: { code: 'model_not_found', limit: null },
      now: { admitted: false, refusal: { code: 'model_not_found' } },
      remedies: ['gatewayctl models add demo/none --in-usd X --out-usd X'],
    })
    await act(deps, 'models.add', { model: 'demo/none' })
    expect(await why(unknown)).toMatchObject({
      now: { admitted: false, refusal: { code: 'unpriced_model' } },
      remedies: ['gatewayctl models price demo/none --in-usd X --out-usd X'],
    })
    await act(deps, 'models.price', { model: 'demo/none', in_usd: '1', out_usd: '1' })
    expect(await why(unknown)).toMatchObject({ now: ADMITTED, remedies: [] })
  })

  test('whose key was disabled, expired or revoked since', async () => {
    await limit({ rpm_limit: 1 })
    await ask()
    const refused = await ask()
    deps.clock.advance(60_000)
    await act(deps, 'keys.edit', { key: 'default', disabled: true })
    const { id: keyId } = await keyNow()
    expect(await why(refused)).toMatchObject({
      now: {
        admitted: false,
        refusal: { code: 'api_key_disabled', limit: 'status', used: 'disabled' },
      },
      remedies: [
        `gatewayctl limits set ${keyId} --rpm 2`,
        `gatewayctl keys edit ${keyId} --enable`,
      ],
    })
    await act(deps, 'keys.revoke', { key: 'default' })
    expect((await why(refused)).now?.refusal?.code).toBe('api_key_revoked')
  })

  test('for what its body asks cannot be judged again', async () => {
    const refused = await ask({ wantsImages: true })
    expect(await why(refused)).toMatchObject({
      refusal: { code: 'unsupported_modality', limit: null },
      now: { admitted: null, refusal: null },
      remedies: [],
    })
  })

  test('of an old entry without a message is still explained', async () => {
    const refused = await ask({ model: 'demo/none' })
    const line = await deps.store.activity.find(refused as `gen-${string}`)
    if (!line) throw new Error('no line')
    deps.clock.advance(1)
    const old = { ...line, generationId: sibling(line.generationId), refusal: null } as typeof line
    deps.store.activity.note(old)
    expect(await why(old.generationId)).toMatchObject({
      refusal: { code: 'model_not_found', message: 'the log has no words of it' },
      now: { admitted: false },
    })
  })
})

describe('an admitted request', () => {
  test('is told in words: who was asked, how it ended, what it cost', async () => {
    const served = await ask()
    const told = await why(served)
    expect(told).toMatchObject({ status: 200, refusal: null, now: null, remedies: [] })
    expect(told.story).toEqual([
      'attempt 1: demo, asked for demo/echo, answered after 0 ms',
      'it ran to its end in 0 ms, finishing with "stop"',
      expect.stringMatching(/^charged \$0\.0000\d+ \(0\.\d+ ₽\) for what was produced, as the/),
    ])
  })

  test('that failed and went elsewhere tells every attempt, and what nobody pays', async () => {
    const attempt: FailedAttempt = {
      model: 'demo/echo',
      provider: 'spare',
      outcome: 'overloaded',
      status: 529,
      reason: 'too many',
      ms: 7,
      operatorCost: usd('0.002'),
    }
    const line = await deps.store.activity.find((await ask()) as `gen-${string}`)
    if (!line) throw new Error('no line')
    const note = (last: number, stated: Partial<typeof line>) => {
      const generationId = sibling(line.generationId, last)
      deps.store.activity.note({ ...line, generationId, failedAttempts: [attempt], ...stated })
      return generationId
    }
    const broken = note(1, { endedBy: 'upstream', status: 503, code: 'upstream_overloaded' })
    expect((await why(broken)).story).toEqual([
      'attempt 1: spare, asked for demo/echo, was overloaded with status 529 after 7 ms: too many',
      expect.stringContaining('503 upstream_overloaded'),
      "nothing was charged; output of $0.002 at the model's price is charged to nobody",
    ])
    const left = note(2, { endedBy: 'client', status: 499, firstEventMs: null, totalMs: 30 })
    expect((await why(left)).story).toContain('the client hung up after 30 ms, before any content')
  })
})

test('what is not there', async () => {
  await expect(why('gen-none')).rejects.toMatchObject({
    code: 'generation_not_found',
    details: { hint: 'gatewayctl activity list' },
  })
  await ask()
  const newest = await ask()
  await expect(why('mine')).rejects.toMatchObject({
    code: 'generation_not_found',
    details: { hint: `gatewayctl why ${newest}` },
  })
})

/** Another id of the same moment, far from those that are drawn one after the other. */
const sibling = (id: string, number = 1): `gen-${string}` => {
  const at = id.length - 9
  const others = [...'0123'].filter((one) => id[at] !== one)
  return `${id.slice(0, at)}${others[number]}${id.slice(at + 1)}` as `gen-${string}`
}

const ADMITTED = { admitted: true, refusal: null }
