/** Every error code of contract §3 on the compiled binary: status, type, headers and body, under both prefixes, for every client. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERROR_CODES, type ErrorCode } from '#domain/errors.ts'
import { OPERATOR_CODES } from '#http/openapi/schemas/error.ts'
import type { Case, Row } from './case.ts'
import { FAULTS } from './faults.ts'
import { KEYS } from './keys.ts'
import { LIMITS } from './limits.ts'
import { REQUESTS } from './requests.ts'
import { CREDENTIAL, openScene, type Scene } from './scene.ts'
import { MANNERS, startVisitor, type Visitor } from './visitor.ts'

/** Codes that no client gets: the command that reports them, and its exit code. */
const OPERATORS = {
  account_not_found: [3, ['balance', 'show', '--account', 'nobody']],
  provider_not_found: [3, ['providers', 'show', 'nobody']],
  client_not_found: [3, ['clients', 'show', 'nobody']],
  group_not_found: [3, ['groups', 'show', 'nobody']],
  person_not_found: [3, ['users', 'show', 'nobody@example.org']],
  notice_not_found: [3, ['deliveries', 'show', 'evt_00000000000000000000000000']],
  already_exists: [1, ['accounts', 'create', 'default']],
  account_closed: [1, ['keys', 'create', 'late', '--account', 'ended']],
} as const

/** At an address that nobody serves by this method: `test/acceptance/messages`. */
const ELSEWHERE = ['websocket_not_supported'] as const

/** What a person is told in the cabinet: `test/cabinet`. */
const CABINET = ['role_not_allowed'] as const

const ROWS = { ...REQUESTS, ...KEYS, ...LIMITS, ...FAULTS } satisfies Readonly<
  Record<
    Exclude<ErrorCode, keyof typeof OPERATORS | (typeof ELSEWHERE | typeof CABINET)[number]>,
    Row
  >
>

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
  scene.cli.run(['accounts', 'create', 'ended'])
  scene.cli.run(['accounts', 'close', 'ended', '--yes'])
})
afterAll(() => scene?.close())

test('every code of the contract has a case, and no other code has', () => {
  const covered = [...Object.keys(ROWS), ...Object.keys(OPERATORS), ...ELSEWHERE, ...CABINET]
  expect(covered.toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted())
  expect([...Object.keys(OPERATORS), ...CABINET].toSorted()).toEqual(OPERATOR_CODES.toSorted())
})

describe.each(Object.entries<Row>(ROWS))('%s', (code, row) => {
  let stage: Scene
  beforeAll(async () => {
    stage = row.stage ? await row.stage() : scene
  })
  afterAll(async () => {
    if (row.stage) await stage?.close()
  })

  const isMissing = row.needs !== undefined && Bun.which(row.needs) === null
  test.skipIf(isMissing).each(row.cases.map((one, place) => [one.what, one, place] as const))(
    '%s',
    async (_, one, place) => {
      const visitors = MANNERS.map((manner, n) =>
        startVisitor(stage, manner, `${code}.${place}.${n}`),
      )
      await Promise.all(visitors.map((visitor) => one.prepare?.(visitor)))
      const trouble = await one.trouble?.(stage)
      try {
        await Promise.all(visitors.map((visitor) => visit(visitor, code, row, one)))
      } finally {
        await trouble?.release()
        await Promise.all(visitors.map((visitor) => visitor.leave()))
      }
    },
  )
})

test.each(Object.entries(OPERATORS))(
  '%s is reported to operators only',
  (code, [exit, command]) => {
    const ended = scene.cli.run([...command, '--json'])
    expect(ended).toMatchObject({ code: exit, out: '' })
    expect(JSON.parse(ended.err)).toMatchObject({ error: { code, exit_code: exit } })
  },
)

test.each(['a b', '<script>', 'é', 'x'.repeat(129), '"', 'a,b'])(
  'a request whose X-Request-Id is %s gets another id',
  async (name) => {
    const answer = await fetch(`${scene.gateway.url}/v1/key`, { headers: { 'x-request-id': name } })
    const { request_id } = (await answer.json()) as { request_id: string }
    expect(request_id).toMatch(/^req_[0-9a-z]{26}$/)
    expect(answer.headers.get('x-request-id')).toBe(request_id)
  },
)

async function visit(visitor: Visitor, code: string, row: Row, one: Case): Promise<void> {
  const response = await one.ask(visitor)
  const text = await response.text()
  const told = { status: response.status, headers: tell(response.headers), body: read(text) }
  expect(told).toEqual({
    status: row.status,
    headers: {
      'content-type': 'application/json',
      'x-request-id': visitor.name,
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'www-authenticate': row.status === 401 ? 'Bearer' : null,
      allow: one.allow ?? null,
      connection: one.connection ?? null,
      'retry-after': one.retryAfter ?? null,
      'x-should-retry': one.shouldRetry ?? null,
      'set-cookie': null,
      ...expectedRates(visitor, one.taken ?? 0),
    },
    body: {
      error: {
        message: expect.stringMatching(one.words ?? /\S/),
        type: row.type,
        param: one.param ?? null,
        code,
        ...(one.metadata && { metadata: one.metadata }),
      },
      request_id: visitor.name,
    },
  })
  expect(response.headers.get('access-control-expose-headers')?.toLowerCase()).toContain(
    'x-ratelimit-remaining-minute, x-ratelimit-reset-minute',
  )
  expectNoLeak(visitor, text + JSON.stringify([...response.headers]))
  await expectNothingTaken(visitor, one)
}

const RATES = ['limit', 'remaining', 'reset'].flatMap((part) => [
  `x-ratelimit-${part}-minute`,
  `x-ratelimit-${part}-day`,
])

const TOLD = [
  'content-type',
  'x-request-id',
  'x-content-type-options',
  'access-control-allow-origin',
  'www-authenticate',
  'allow',
  'connection',
  'retry-after',
  'x-should-retry',
  'set-cookie',
  ...RATES,
]

const tell = (headers: Headers): Record<string, string | null> =>
  Object.fromEntries(TOLD.map((name) => [name, headers.get(name)]))

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The three headers of a window are present exactly where a key with that window was identified (contract §4). */
function expectedRates({ asking }: Visitor, taken: number): Record<string, unknown> {
  const window = (name: string, limit: number | null | undefined, seconds: number) => ({
    [`x-ratelimit-limit-${name}`]: limit ? String(limit) : null,
    [`x-ratelimit-remaining-${name}`]: limit ? String(limit - taken) : null,
    [`x-ratelimit-reset-${name}`]: limit ? resets(taken, seconds) : null,
  })
  return {
    ...window('minute', asking?.rpm_limit, 60),
    ...window('day', asking?.rpd_limit, 86_400),
  }
}

/** Whole seconds, rounded up, until the oldest request leaves the window; 0 when there is none. */
const resets = (taken: number, seconds: number) =>
  taken === 0
    ? '0'
    : expect.toSatisfy((text: unknown) => /^\d+$/.test(String(text)) && seconds - Number(text) < 20)

const INSIDE =
  /<(?:html|!doctype|body|pre|title)|node_modules|bunfs|\.[jt]s:\d+|\bat [\w.<>]+ \(|10\.1\.2\.3|\/home\/|\/root\//i

function expectNoLeak({ scene: { host, cli }, asking }: Visitor, answer: string): void {
  expect(answer).not.toMatch(INSIDE)
  for (const secret of [CREDENTIAL, host, cli.home, asking?.key ?? CREDENTIAL]) {
    expect(answer).not.toContain(secret)
  }
}

/** A refusal consumes nothing; an upstream failure uses a rate slot, and costs nothing. */
async function expectNothingTaken(visitor: Visitor, { taken = 0, spent }: Case): Promise<void> {
  if (visitor.asking === null) return
  await visitor.leave()
  const response = await visitor.call('GET', '/key')
  if (response.status === 401) return
  const { usage } = (await response.json()) as { usage: Record<string, unknown> }
  const { requests_minute, requests_day, spend_day_usd } = usage
  expect([requests_minute, requests_day]).toEqual([taken, taken])
  if (!spent) expect([spend_day_usd, usage['reserved_usd']]).toEqual(['0', '0'])
}
