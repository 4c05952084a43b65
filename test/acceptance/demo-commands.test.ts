/** Commands beside a demo: they find it where nothing else is meant, say so, and are not led elsewhere by a stranger. */
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, type Ended, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
let demos: Appliance[] = []
/** A person who named no data directory. */
let env: Readonly<Record<string, string>>

beforeEach(() => {
  cli = openCli()
  const temp = join(cli.home, 'tmp')
  mkdirSync(temp)
  env = { GATEWAY_DATA_DIR: '', TMPDIR: temp }
})
afterEach(async () => {
  await Promise.all(demos.map((demo) => demo.kill()))
  demos = []
  cli.close()
})

async function startDemo(more = env): Promise<Appliance> {
  const demo = await startAppliance(cli, { flags: ['--demo'], env: more })
  demos.push(demo)
  return demo
}

const run = (...args: readonly string[]): Ended => cli.run(args, { env })
const keyOf = (demo: Appliance): string => /^ {2}key {8}(\S+) /m.exec(demo.said())?.[1] ?? ''
const socket = (): string => join(cli.home, 'run', 'gatewayctl', 'demo.sock')
const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
const SAYS_SO = '· this is the demo gateway: it runs in memory and saves nothing\n'

/** Nothing is there, and nobody was asked. */
const UNMADE = { code: 1, out: '', err: expect.stringMatching(/^error: there is no gateway in /) }

describe('beside a demo', () => {
  test('the commands of the banner work', async () => {
    const demo = await startDemo()
    expect(demo.said()).toMatch(
      /^listening; ctrl-c stops\. {2}In another terminal: gatewayctl dashboard$/m,
    )
    const frame = run('dashboard', '--once')
    expect(frame).toMatchObject({ code: 0, err: SAYS_SO })
    expect(frame.out).toContain(`● serving ${demo.url.slice('http://'.length)}`)

    const status = run('status')
    expect(status).toMatchObject({ code: 0, err: SAYS_SO })
    expect(status.out).toMatch(/^data {7}in memory {3}/m)
    expect(run('keys')).toMatchObject({
      code: 0,
      out: expect.stringContaining('demo'),
      err: SAYS_SO,
    })
    // A script hears the document alone.
    expect(run('keys', '--json')).toMatchObject({ code: 0, err: '' })
    expect(statSync(socket()).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(socket())).mode & 0o777).toBe(0o700)
  })

  test('changes apply from the next request, and tail prints requests as they end', async () => {
    const demo = await startDemo()
    const secret = run('keys', 'create', 'second', '--rpm', '1').out.trim()
    expect((await demo.chat(secret, hello)).status).toBe(200)
    const tail = Bun.spawn([BINARY, 'activity', 'tail', '--json'], {
      env: { ...cli.env, ...env },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    let told = ''
    const heard = (async () => {
      for await (const piece of tail.stdout.pipeThrough(new TextDecoderStream())) told += piece
    })()
    // A tail hears what ends after it came; which request is the first of those is its own affair.
    await until(async () => {
      await demo.chat(secret, hello)
      return told.includes('\n')
    }, 'the tail tells of a request')
    expect(JSON.parse(told.split('\n')[0] ?? '')).toMatchObject({ key_name: 'second', status: 429 })
    tail.kill()
    await heard
  })

  test('it removes its socket when it stops', async () => {
    const demo = await startDemo()
    expect(existsSync(socket())).toBe(true)
    expect(await demo.stop()).toBe(0)
    expect(existsSync(socket())).toBe(false)
    expect(run('keys')).toMatchObject(UNMADE)
  })
})

describe('another gateway than the demo', () => {
  test('a given data directory is used instead', async () => {
    await startDemo()
    expect(cli.run(['keys'])).toMatchObject(UNMADE)
    expect(run('keys', '--data-dir', cli.dataDir)).toMatchObject(UNMADE)
    expect(run('dashboard', '--once', '--data-dir', cli.dataDir).code).toBe(4)
  })

  test('after init, commands use the data directory, and a demo prints how to reach it', async () => {
    const demo = await startDemo()
    const made = run('init', '--name', 'real')
    expect(made.code).toBe(0)
    expect(run('keys')).toMatchObject({ out: expect.stringContaining('real'), err: '' })
    expect(run('dashboard', '--once').code).toBe(4)
    await demo.stop()

    const next = await startDemo()
    const command = /^ {2}(GATEWAY_ADMIN_SOCKET=\S+) gatewayctl dashboard$/m.exec(next.said())
    const [name = '', path = ''] = command?.[1]?.split('=') ?? []
    const { code, out } = cli.run(['keys'], { env: { ...env, [name]: path } })
    expect([code, out.includes('real'), out.includes('demo')]).toEqual([0, false, true])
  })
})

describe('sockets of others', () => {
  test('the socket of a killed demo is replaced by the next demo', async () => {
    const demo = await startDemo()
    await demo.kill()
    expect(existsSync(socket())).toBe(true)
    expect(run('keys')).toMatchObject(UNMADE)
    expect(run('dashboard', '--once').code).toBe(4)
    await startDemo()
    expect(run('keys').code).toBe(0)
  })

  test('a second demo serves without one, and leaves the first its own', async () => {
    const first = await startDemo()
    const second = await startDemo()
    expect(second.said()).toContain('Commands cannot reach this demo: another demo is running')
    expect((await second.chat(keyOf(second), hello)).status).toBe(200)
    expect(await second.stop()).toBe(0)
    expect(run('dashboard', '--once').out).toContain(first.url.slice('http://'.length))
  })

  test('without a runtime directory it is in one of its own among the temporary files', async () => {
    env = { ...env, XDG_RUNTIME_DIR: '' }
    await startDemo()
    const own = join(env['TMPDIR'] ?? '', `gatewayctl-${process.getuid?.()}`)
    expect(statSync(join(own, 'demo.sock')).isSocket()).toBe(true)
    expect(statSync(own).mode & 0o777).toBe(0o700)
    expect(run('keys').code).toBe(0)
  })

  const own = (): string => join(env['TMPDIR'] ?? '', `gatewayctl-${process.getuid?.()}`)
  test.each([
    ['that anybody may enter', () => chmodSync(own(), 0o755)],
    ['that is a link', () => symlinkSync(cli.home, own())],
    ['of another user', process.getuid?.() === 0 ? () => chownSync(own(), 65_534, 65_534) : null],
  ])('a directory %s is not believed, by a demo or by a command', async (what, spoil) => {
    if (spoil === null) return console.warn('a directory of another user: skipped, not root')
    env = { ...env, XDG_RUNTIME_DIR: '' }
    if (what !== 'that is a link') mkdirSync(own(), { mode: 0o700 })
    else chmodSync(cli.home, 0o700)
    spoil()
    const demo = await startDemo()
    expect(demo.said()).toContain(`Commands cannot reach this demo: ${own()} is not private to you`)

    const asked: string[] = []
    const trap = Bun.serve({
      unix: join(own(), 'demo.sock'),
      fetch(request) {
        asked.push(request.url)
        return Response.json([])
      },
    })
    const { code, out, err } = await cli.runBeside(['keys'], { env })
    await trap.stop(true)
    expect({ code, out, asked }).toEqual({ code: 1, out: '', asked: [] })
    expect(err).toContain(`in ${own()}: the directory is not private to you`)
    expect(err).toContain('hint: gatewayctl init')
  })
})
