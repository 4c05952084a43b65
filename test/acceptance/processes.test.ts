// Several processes on one port are one gateway: one truth of money and limits, whoever answers and whoever dies.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'

const COUNT = 3
const KILLS = FULL ? 20 : 2

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli, { flags: ['--processes', String(COUNT)] })
})
afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

/** The processes that serve. */
const served = (): readonly number[] =>
  readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
    .map(Number)

const isAlive = (pid: number): boolean => {
  try {
    // Reaped by nobody, it is still listed.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** On a connection of its own, for which the kernel chooses a process. */
const fresh = (key: string, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  headers: {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    connection: 'close',
    ...headers,
  },
})

const issue = async (name: string, limits: object = {}): Promise<{ key: string; id: string }> =>
  await gateway.verb('keys.create', { name, ...limits })

const echo = (key: string, headers?: Readonly<Record<string, string>>, word = 'hi') =>
  gateway.chat(
    key,
    { model: 'demo/echo', messages: [{ role: 'user', content: word }] },
    fresh(key, headers),
  )

/** A stream that goes on for seconds. */
const lorem = (key: string, words: number, rate: number) =>
  gateway.chat(
    key,
    {
      model: 'demo/lorem',
      stream: true,
      max_tokens: words,
      user: `rate-${rate}`,
      messages: [{ role: 'user', content: 'go on' }],
    },
    fresh(key),
  )

const running = async (): Promise<number> => (await gateway.verb('status', {})).in_flight

const bodyOf = async (answer: Response) =>
  (await answer.json()) as { readonly id: string; readonly usage: { readonly cost: number } }

describe('processes on one port', () => {
  test('are as many as were asked for, and end with the one that has the books', async () => {
    const other = openCli()
    furnishCli(other)
    const short = await startAppliance(other, { flags: ['--processes', '2'] })
    const own = readFileSync(`/proc/${short.pid}/task/${short.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number)
    expect(own).toHaveLength(2)
    await short.kill()
    await until(() => own.every((pid) => !isAlive(pid)), 'they end', 5_000)
    other.close()
  })

  test('admit exactly what a limit allows, wherever its requests arrive', async () => {
    const { key } = await issue('raced', { rpm_limit: 40 })
    const answers = await Promise.all(Array.from({ length: 120 }, () => echo(key)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(40)
    expect(statuses.filter((status) => status === 429)).toHaveLength(80)
  })

  test('log a line for each request, whoever serves it, and nothing that a terminal obeys', async () => {
    const { key } = await issue('logged')
    const names = Array.from({ length: 12 }, (_, n) => `logged-${n}`)
    await Promise.all(names.map((name) => echo(key, { 'x-request-id': name })))
    const odd = { model: 'a\u0085b', messages: [{ role: 'user', content: 'hi' }] }
    await gateway.chat(key, odd, fresh(key, { 'x-request-id': 'logged-odd' }))
    const logged = () => gateway.said().match(/^.*"logged-.*\n/gm) ?? []
    await until(() => logged().length > names.length, 'all are logged', 5_000)
    const lines = logged().map((line) => JSON.parse(line))
    expect(lines.map(({ request_id }) => request_id).toSorted()).toStrictEqual(
      [...names, 'logged-odd'].toSorted(),
    )
    expect(lines.find(({ request_id }) => request_id === 'logged-odd').model).toBe('a\u0085b')
    expect(logged().join('')).not.toContain('\u0085')
  })

  test('refuse a revoked key from the next request on, on every connection', async () => {
    const { key, id } = await issue('revoked')
    for (const answer of await Promise.all(Array.from({ length: 12 }, () => echo(key)))) {
      expect(answer.status).toBe(200)
    }
    await gateway.verb('keys.revoke', { key: id })
    for (const answer of await Promise.all(Array.from({ length: 24 }, () => echo(key)))) {
      expect(answer.status).toBe(401)
    }
  })

  test('charge a new price from the next request on', async () => {
    const { key } = await issue('priced')
    await gateway.verb('models.add', {
      model: 'demo/dear',
      provider: 'demo',
      upstream: 'echo',
      in_usd: '1',
      out_usd: '1',
    })
    const costs = async (): Promise<ReadonlySet<number>> => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          gateway.chat(
            key,
            { model: 'demo/dear', messages: [{ role: 'user', content: 'one two' }] },
            fresh(key),
          ),
        ),
      )
      const bodies = await Promise.all(answers.map(bodyOf))
      return new Set(bodies.map(({ usage }) => usage.cost))
    }
    const [before] = await costs()
    await gateway.verb('models.price', { model: 'demo/dear', in_usd: '2', out_usd: '2' })
    expect(await costs()).toEqual(new Set([2 * (before ?? 0)]))
  })

  test('run a request that is repeated once, and replay it everywhere', async () => {
    const { key, id } = await issue('repeated')
    const name = { 'idempotency-key': 'one' }
    const first = await Promise.all(Array.from({ length: 12 }, () => echo(key, name)))
    const statuses = first.map(({ status }) => status)
    expect(statuses).toContain(200)
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([])
    const texts = await Promise.all(
      Array.from({ length: 12 }, async () => await (await echo(key, name)).text()),
    )
    expect(new Set(texts).size).toBe(1)
    expect(readDatabase(cli, 'SELECT id FROM ledger WHERE key_id = ?', id)).toHaveLength(1)
  })

  test('show an operator every request, and end the one that is named', async () => {
    const { key } = await issue('shown')
    const streams = await Promise.all(Array.from({ length: 9 }, () => lorem(key, 10_000, 20)))
    await until(async () => (await running()) === 9, 'all are seen')
    const [first, ...others] = streams
    const id = first?.headers.get('x-generation-id') ?? ''
    await gateway.verb('activity.kill', { id })
    expect(await first?.text()).toContain('ended_by_operator')
    expect(await running()).toBe(8)
    await Promise.all(others.map((stream) => stream.body?.cancel()))
    await until(async () => (await running()) === 0, 'nothing runs')
  })

  test(`that are killed, ${KILLS} times, lose no charge of an answer, and free what they held`, {
    timeout: 120_000,
  }, async () => {
    const { key } = await issue('killed', { concurrency_limit: 12 })
    const answered: string[] = []
    for (let round = 0; round < KILLS; round++) {
      const [victim, ...others] = served()
      const held = await Promise.all(Array.from({ length: 6 }, () => lorem(key, 10_000, 20)))
      let stopped = false
      const loading = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!stopped) {
            const answer = await echo(key).catch(() => null)
            const whole = answer?.status === 200 ? await bodyOf(answer).catch(() => null) : null
            if (whole !== null) answered.push(whole.id)
          }
        }),
      )
      const before = answered.length
      await until(() => answered.length > before + 8, 'the load runs')
      process.kill(victim ?? 0, 'SIGKILL')
      await until(
        () => served().length === COUNT && !served().includes(victim ?? 0),
        'another is there',
        8_000,
      )
      stopped = true
      await loading
      await Promise.all(held.map((stream) => stream.body?.cancel().catch(() => undefined)))
      expect(others.every(isAlive)).toBe(true)
      await until(
        async () => (await gateway.verb('audit', {})).open_holds === 0,
        'its slots are free',
        3_000,
      )
    }
    const charged = chargesIn(cli).map(({ generation_id }) => generation_id)
    expect(answered.filter((one) => !charged.includes(one))).toEqual([])
    expect(new Set(charged).size).toBe(charged.length)
    expect(await gateway.verb('audit', {})).toMatchObject({ clean: true, open_holds: 0 })
  })

  test.runIf(FULL)(
    'one that hangs is ended after 30 s, and another is there',
    {
      timeout: 90_000,
    },
    async () => {
      const { key } = await issue('hung', { concurrency_limit: COUNT })
      const held = await Promise.all(Array.from({ length: COUNT }, () => lorem(key, 10_000, 20)))
      const [victim = 0] = served()
      process.kill(victim, 'SIGSTOP')
      const troubles = async () =>
        (await gateway.verb('doctor', {})).findings.filter(({ check }) => check === 'processes')
      await until(async () => (await troubles()).length > 0, 'doctor says so', 20_000)
      await until(
        () => served().length === COUNT && !served().includes(victim),
        'it is gone',
        40_000,
      )
      expect(await troubles()).toEqual([])
      expect(gateway.said()).toContain(`process ${victim} has not answered for 30 s`)
      await Promise.all(held.map((stream) => stream.body?.cancel().catch(() => undefined)))
      await until(async () => (await gateway.verb('audit', {})).open_holds === 0, 'all is free')
      for (let asked = 0; asked < 20; asked++) expect((await echo(key)).status).toBe(200)
    },
  )

  test('end their streams before a stop, and leave nothing open', async () => {
    const { key } = await issue('drained')
    const streams = await Promise.all(Array.from({ length: 6 }, () => lorem(key, 40, 40)))
    const texts = Promise.all(streams.map((stream) => stream.text()))
    expect(await gateway.stop()).toBe(0)
    for (const text of await texts) expect(text).toMatch(/data: \[DONE\]\n\n$/)
    expect(gateway.said()).not.toContain('TypeError')
  })
})
