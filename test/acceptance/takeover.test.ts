// A new gateway takes over from the one that serves: nothing is refused, nothing cut, and limits and money go on where they were.
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemCodeOf } from '#domain/system-code.ts'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import { FULL } from '#test/support/tier.ts'

const TAKEOVERS = FULL ? 8 : 2
const KILLS = FULL ? 12 : 2
const STOPS = FULL ? 12 : 2
const PROCESSES = ['--processes', '2']

let cli: CliHarness
let gateway: Appliance
/** All that were started, whether they live or not. */
let started: Appliance[]

beforeEach(async () => {
  cli = openCli()
  furnishCli(cli)
  gateway = await startAppliance(cli, { flags: PROCESSES })
  started = [gateway]
})
afterEach(async () => {
  // Those that were taken over from are done with when their last stream is, at the latest with the newest.
  await Promise.all(started.map((one) => one.kill()))
  cli.close()
})

async function takeOver(flags: readonly string[] = []): Promise<Appliance> {
  const next = await startAppliance(cli, { flags: ['--takeover', ...PROCESSES, ...flags] })
  started.push(next)
  return next
}

const issue = async (name: string, limits: object = {}): Promise<string> =>
  (await gateway.verb('keys.create', { name, ...limits })).key

const running = async (): Promise<number> => (await gateway.verb('status', {})).in_flight

const ask = (key: string, headers: Readonly<Record<string, string>> = {}) =>
  gateway.chat(
    key,
    { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] },
    {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    },
  )

/** So many words at so many a second. */
const stream = (key: string, words: number, rate: number): Promise<Response> =>
  gateway.chat(key, {
    model: 'demo/lorem',
    stream: true,
    max_tokens: words,
    user: `rate-${rate}`,
    messages: [{ role: 'user', content: 'go on' }],
  })

/** Asks without a pause until it is told to stop; half of it on connections of their own. */
function load(key: string, clients: number) {
  const ids: string[] = []
  const failures: string[] = []
  let isOver = false
  const all = Array.from({ length: clients }, async (_, nth) => {
    while (!isOver) {
      const headers: Readonly<Record<string, string>> = nth % 2 ? { connection: 'close' } : {}
      try {
        const answer = await ask(key, headers)
        const text = await answer.text()
        if (answer.status === 200) ids.push((JSON.parse(text) as { readonly id: string }).id)
        else failures.push(`${answer.status} ${text}`)
      } catch (cause) {
        failures.push(String(cause))
      }
      await Bun.sleep(10)
    }
  })
  return {
    ids,
    failures,
    async stop() {
      isOver = true
      await Promise.all(all)
    },
  }
}

async function booksAreEqual(answered: readonly string[]): Promise<void> {
  const charged = chargesIn(cli).map(({ generation_id }) => generation_id)
  expect(answered.filter((one) => !charged.includes(one))).toEqual([])
  expect(new Set(charged).size).toBe(charged.length)
  expect(await gateway.verb('audit', {})).toMatchObject({ clean: true, open_holds: 0 })
}

/** `activity tail`, and whether it hears of a request that ends now. */
function startTail() {
  const child = Bun.spawn([cli.binary, 'activity', 'tail'], {
    cwd: cli.home,
    env: cli.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let heard = ''
  const hear = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const piece of child.stdout) heard += decoder.decode(piece, { stream: true })
  }
  void hear()
  const key = issue(`tail-${child.pid}`)
  return {
    child,
    async hears() {
      const { id } = (await (await ask(await key)).json()) as { readonly id: string }
      await Bun.sleep(300)
      return heard.includes(id)
    },
  }
}

const isReset = (cause: unknown): boolean => systemCodeOf(cause) === 'ECONNRESET'

const childrenOf = (pid: number): readonly string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)

const send = (signal: string, pid: number | string): void => {
  Bun.spawnSync(['kill', signal, String(pid)])
}

/** The files that a process has open. */
const openOf = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`)
    } catch {
      return ''
    }
  })

describe('a gateway that takes over', () => {
  test(`again, ${TAKEOVERS} times within one stream, refuses nothing and cuts no answer`, {
    timeout: 120_000,
  }, async () => {
    const key = await issue('prod-web')
    const first = stream(key, 40 * TAKEOVERS, 10)
    const traffic = load(key, 6)
    await until(() => traffic.ids.length > 12, 'the load runs')
    for (let round = 0; round < TAKEOVERS; round++) {
      const before = gateway
      gateway = await takeOver()
      expect(await before.exited).toBe(0)
      expect(await gateway.verb('status', {})).toMatchObject({ pid: gateway.pid })
      expect(childrenOf(gateway.pid)).toHaveLength(2)
      const count = traffic.ids.length
      await until(() => traffic.ids.length > count + 12, 'the load goes on')
    }
    const whole = await (await first).text()
    expect(whole).toMatch(/data: \[DONE\]\n\n$/)
    await traffic.stop()
    // Of three hundred new connections a second, those that the kernel had for a process in the instant in which it stopped listening.
    const others = traffic.failures.filter((one) => !one.includes('ECONNRESET'))
    expect(others).toEqual([])
    expect(traffic.failures.length).toBeLessThanOrEqual(2)
    await booksAreEqual(traffic.ids)
    expect(await gateway.stop()).toBe(0)
  })

  test('goes on with what is held: places, windows, names and the stream that an operator ends', async () => {
    const [single, hurried] = [
      await issue('single', { concurrency_limit: 1 }),
      await issue('hurried', { rpm_limit: 3 }),
    ]
    const tail = startTail()
    await until(tail.hears, 'the tail tells')
    const held = await stream(single, 10_000, 20)
    for (let sent = 0; sent < 2; sent++) expect((await ask(hurried)).status).toBe(200)
    gateway = await takeOver()
    await until(tail.hears, 'it tells what ends at the new one')
    gateway = await takeOver()
    tail.child.kill('SIGINT')
    expect(await new Response(tail.child.stderr).text()).toContain('another gateway tells')
    expect((await ask(single)).status).toBe(429)
    expect((await ask(hurried)).status).toBe(200)
    expect((await ask(hurried)).status).toBe(429)
    expect(await running()).toBe(1)
    const id = held.headers.get('x-generation-id') ?? ''
    await gateway.verb('activity.kill', { id })
    expect(await held.text()).toContain('ended_by_operator')
    expect((await ask(single)).status).toBe(200)
    await booksAreEqual([id])
  })

  test('gets sign-in and metrics without a refused connection', async () => {
    await gateway.stop()
    const places = ['--auth-listen', `127.0.0.1:${freePort()}`, '--metrics-listen']
    const flags = [...places, `127.0.0.1:${freePort()}`]
    gateway = await startAppliance(cli, { flags: [...PROCESSES, ...flags], signin: true })
    started.push(gateway)
    const [, auth, , metrics] = flags
    const failures: unknown[] = []
    let resets = 0
    let isOver = false
    const asking = [`${auth}/.well-known/openid-configuration`, `${metrics}/metrics`].map(
      async (path) => {
        while (!isOver) {
          const answer = await fetch(`http://${path}`, { headers: { connection: 'close' } }).catch(
            (cause: unknown) => cause,
          )
          // What arrives in the instant in which the old one stops may be reset.
          if (isReset(answer)) resets++
          else if (!(answer instanceof Response && answer.ok)) failures.push(answer)
          await Bun.sleep(5)
        }
      },
    )
    const next = await startAppliance(cli, {
      flags: ['--takeover', ...PROCESSES, ...flags],
      signin: true,
    })
    started.push(next)
    expect(await gateway.exited).toBe(0)
    gateway = next
    isOver = true
    await Promise.all(asking)
    expect(failures).toEqual([])
    expect(resets).toBeLessThanOrEqual(2)
  })

  test('says what is in its way, and leaves the other in its place', async () => {
    const refused = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { code, err } = cli.run(['serve', '--auth-listen', 'off', '--takeover', ...args], {
        env,
      })
      return [code, err]
    }
    const key = await issue('prod-web')
    const held = await stream(key, 40, 20)
    const processes = childrenOf(gateway.pid)
    expect(refused(['--demo'])).toEqual([2, expect.stringContaining('demo')])
    expect(refused([])).toEqual([2, expect.stringContaining('--processes auto')])
    const other = { GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
    expect(refused(PROCESSES, other)).toEqual([1, expect.stringContaining('another master key')])
    const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    expect(refused([...PROCESSES, '--listen', `127.0.0.1:${taken.port}`])).toEqual([
      1,
      expect.stringContaining('the address is in use'),
    ])
    for (const flag of ['--metrics-listen', '--auth-listen']) {
      expect(refused([...PROCESSES, flag, `127.0.0.1:${taken.port}`])).toEqual([
        1,
        expect.stringMatching(/the address is in use[\s\S]*--takeover/),
      ])
    }
    const socket = { GATEWAY_ADMIN_SOCKET: join(cli.dataDir, 'run', 'admin.sock') }
    const elsewhere = { ...socket, GATEWAY_DATA_DIR: join(cli.home, 'nowhere') }
    expect(refused(PROCESSES, elsewhere)).toEqual([
      1,
      expect.stringContaining(`the gateway on this socket serves ${cli.dataDir}`),
    ])
    await taken.stop(true)
    expect(childrenOf(gateway.pid)).toEqual(processes)
    expect(await held.text()).toMatch(/data: \[DONE\]\n\n$/)
    expect((await ask(key)).status).toBe(200)
    expect(await gateway.verb('status', {})).toMatchObject({ pid: gateway.pid })
    await gateway.stop()
    expect(refused(PROCESSES)).toEqual([4, expect.stringContaining('no gateway is running')])
    gateway = await startAppliance(cli, {})
    started.push(gateway)
    expect(refused(PROCESSES)).toEqual([1, expect.stringContaining('is one process')])
  })
})

describe('whichever is killed while one takes over', () => {
  const socket = (): string => join(cli.dataDir, 'run', 'admin.sock')

  /** Resolves once everything is checked, and the other is asked for its place. */
  async function begin(): Promise<ReturnType<typeof Bun.spawn>> {
    const flags = ['--takeover', ...PROCESSES, '--auth-listen', 'off', '--listen', '127.0.0.1:0']
    const heir = Bun.spawn([cli.binary, 'serve', ...flags], {
      cwd: cli.home,
      env: cli.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    const decoder = new TextDecoder()
    for await (const piece of heir.stderr) {
      said += decoder.decode(piece, { stream: true })
      if (said.includes('taking over')) break
    }
    return heir
  }

  const serves = async (pid: number): Promise<boolean> =>
    existsSync(socket()) && (await gateway.verb('status', {})).pid === pid

  test(`${KILLS} times the new one: the other goes on, or had ended, and no charge is lost`, {
    timeout: 240_000,
  }, async () => {
    const key = await issue('prod-web', { concurrency_limit: 20 })
    const answered: string[] = []
    let goneOn = 0
    for (let round = 0; round < KILLS; round++) {
      const traffic = load(key, 4)
      const held = (await stream(key, 30, 20)).text().catch(() => 'cut')
      await until(() => traffic.ids.length > 8, 'the load runs')
      const heir = await begin()
      await Bun.sleep((round * 240) / KILLS)
      heir.kill('SIGKILL')
      await heir.exited
      let hasEnded = false
      void gateway.exited.then(() => {
        hasEnded = true
      })
      await until(async () => hasEnded || (await serves(gateway.pid)), 'it is settled')
      await traffic.stop()
      answered.push(...traffic.ids)
      if (hasEnded) {
        gateway = await startAppliance(cli, { flags: PROCESSES })
        started.push(gateway)
      } else {
        goneOn++
        expect(await held).toMatch(/data: \[DONE\]\n\n$/)
      }
      expect((await ask(key)).status).toBe(200)
      await until(() => openHolds(cli) === 0, 'nothing is held', 8_000)
    }
    expect(goneOn).toBeGreaterThan(0)
    await booksAreEqual(answered)
    await gateway.stop()
    // A door that was killed while it was made may be left; the next one clears it.
    const left = readdirSync(dirname(socket())).filter((name) => !name.endsWith('.new'))
    expect(left).toEqual([])
  })

  test(`${STOPS} times the old one is told to stop meanwhile: the new one ends what runs, and stops in its stead`, {
    timeout: 120_000,
  }, async () => {
    const key = await issue('prod-web')
    const ends: number[] = []
    for (let round = 0; round < STOPS; round++) {
      const held = (await stream(key, 60, 20)).text()
      const heir = await begin()
      await Bun.sleep((round * 240) / STOPS)
      send('-TERM', gateway.pid)
      expect(await gateway.exited).toBe(0)
      const isPassedOn = gateway.said().includes(`process ${heir.pid} stops in its stead`)
      // It came to a process that had handed over and was all but gone: nobody was told.
      if (round > 0 && !isPassedOn) heir.kill('SIGTERM')
      ends.push(await heir.exited)
      expect(await held).toMatch(/data: \[DONE\]\n\n$/)
      gateway = await startAppliance(cli, { flags: PROCESSES })
      started.push(gateway)
      await booksAreEqual([])
    }
    // One that has not asked for the place yet is refused it: the other drains.
    expect(ends).toContain(0)
    expect(ends.every((end) => end === 0 || end === 1)).toBe(true)
  })

  test(`${STOPS} times the new one is told to stop meanwhile: it takes over, ends what runs, and stops`, {
    timeout: 120_000,
  }, async () => {
    const key = await issue('prod-web')
    for (let round = 0; round < STOPS; round++) {
      const held = (await stream(key, 60, 20)).text()
      const heir = await begin()
      await Bun.sleep((round * 240) / STOPS)
      heir.kill('SIGTERM')
      expect(await heir.exited).toBe(0)
      expect(await gateway.exited).toBe(0)
      expect(await held).toMatch(/data: \[DONE\]\n\n$/)
      gateway = await startAppliance(cli, { flags: PROCESSES })
      started.push(gateway)
      await booksAreEqual([])
    }
  })

  test('two at once: the second is refused, the first serves', async () => {
    const key = await issue('prod-web')
    const heir = await begin()
    heir.kill('SIGSTOP')
    const { code, err } = cli.run(['serve', '--auth-listen', 'off', '--takeover', ...PROCESSES])
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('another process takes over right now'),
    ])
    heir.kill('SIGCONT')
    await until(() => serves(heir.pid), 'the first serves')
    expect((await ask(key)).status).toBe(200)
    heir.kill('SIGKILL')
    await heir.exited
  })

  test('the old one, while a stream runs: the new one serves, and nothing is held for ever', {
    timeout: 120_000,
  }, async () => {
    const key = await issue('prod-web', { concurrency_limit: 2 })
    const answered: string[] = []
    for (let round = 0; round < KILLS; round++) {
      const held = await stream(key, 10_000, 20)
      const traffic = load(key, 1)
      await until(() => traffic.ids.length > 4, 'the load runs')
      const heir = await begin()
      await Bun.sleep((round * 120) / KILLS)
      // It may have handed over, and ended.
      send('-9', gateway.pid)
      await until(() => serves(heir.pid), 'the new one serves')
      await traffic.stop()
      answered.push(...traffic.ids)
      await held.body?.cancel().catch(() => undefined)
      await until(() => openHolds(cli) === 0, 'nothing is held', 12_000)
      expect((await ask(key)).status).toBe(200)
      heir.kill('SIGKILL')
      await heir.exited
      gateway = await startAppliance(cli, { flags: PROCESSES })
      started.push(gateway)
    }
    await booksAreEqual(answered)
  })

  test.runIf(FULL)(
    'the new one hangs with the store: it is ended, and the old one goes on',
    {
      timeout: 60_000,
    },
    async () => {
      const key = await issue('prod-web')
      const held = (await stream(key, 480, 20)).text()
      const heir = await begin()
      const lock = realpathSync(join(cli.dataDir, 'lock.db'))
      await until(() => openOf(heir.pid).includes(lock), 'it has the store')
      send('-STOP', heir.pid)
      await heir.exited
      expect(heir.signalCode).toBe('SIGKILL')
      await until(() => serves(gateway.pid), 'the old one serves')
      const answered = (await (await ask(key)).json()) as { readonly id: string }
      expect(await held).toMatch(/data: \[DONE\]\n\n$/)
      await booksAreEqual([answered.id])
    },
  )

  test.runIf(FULL)(
    'one that is stuck is said to be, and its processes do not stay behind',
    async () => {
      send('-STOP', gateway.pid)
      const refused = cli.run(['serve', '--auth-listen', 'off', '--takeover', ...PROCESSES])
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('waited 4 s')])
      send('-CONT', gateway.pid)
      const [stuck = ''] = childrenOf(gateway.pid)
      send('-STOP', stuck)
      gateway = await takeOver()
      await until(() => !existsSync(`/proc/${stuck}`), 'it is gone')
      const key = await issue('prod-web')
      for (let asked = 0; asked < 20; asked++) expect((await ask(key)).status).toBe(200)
    },
  )
})

describe('a server that is detached', () => {
  test('is left once it serves; a demo is not detached', async () => {
    await gateway.stop()
    const flags = ['--detach', '--auth-listen', 'off', '--listen', '127.0.0.1:0']
    const refused = cli.run(['serve', '--demo', ...flags])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('demo')])
    const waiting = Bun.spawn([cli.binary, 'serve', ...flags], {
      cwd: cli.home,
      env: cli.env,
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    expect(await waiting.exited).toBe(0)
    const { pid } = cli.json<{ pid: number }>(['status'])
    send('-TERM', pid)
    await until(() => !existsSync(`/proc/${pid}`), 'it has ended')
  })

  test('and ended by a signal before it serves ends who waits for it', async () => {
    await gateway.stop()
    const flags = ['--detach', '--auth-listen', 'off', '--listen', '127.0.0.1:0']
    const waiting = Bun.spawn([cli.binary, 'serve', ...flags], {
      cwd: cli.home,
      env: cli.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await until(() => childrenOf(waiting.pid).length > 0, 'it is started')
    send('-9', childrenOf(waiting.pid)[0] ?? '')
    expect(await waiting.exited).toBe(1)
    expect(await new Response(waiting.stderr).text()).toContain('was ended by SIGKILL')
  })
})
