/** A running gateway and the commands beside it: one writer, changes that hold from the next request, no socket left in the way. */
import { Database } from 'bun:sqlite'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openContext } from '#cli/context.ts'
import { startRequestLog } from '#cli/serve/request-log.ts'
import { openOutlets } from '#cli/terminal/streams.ts'
import { unreachable } from '#db/postgres/engine/errors.ts'
import { BINARY } from '#scripts/compile.ts'
import { until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

const START_MS = 10_000

interface Serving {
  readonly url: string
  readonly process: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  /** Everything it printed so far. */
  said(): string
}

let cli: CliHarness
let servers: Serving[] = []

beforeEach(() => {
  cli = openCli()
})
afterEach(async () => {
  for (const { process } of servers) {
    process.kill('SIGKILL')
    await process.exited
  }
  servers = []
  cli.close()
})

/** Starts on a free port and waits until it says that it listens. */
async function serve(
  flags: readonly string[] = [],
  env = {},
  wrapper: readonly string[] = [],
): Promise<Serving> {
  const command = [...wrapper, BINARY, 'serve', '--listen', '127.0.0.1:0', ...flags]
  const child = Bun.spawn(command, {
    cwd: cli.home,
    env: { ...cli.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let said = ''
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>()
  const hear = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      said += decoder.decode(chunk, { stream: true })
      const url = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(said)?.[0]
      if (url && /listening/.test(said)) resolve(url)
    }
  }
  const timer = setTimeout(() => reject(new Error(`it did not start:\n${said}`)), START_MS)
  Promise.all([hear(child.stdout), hear(child.stderr)])
    .then(() => reject(new Error(`it ended early:\n${said}`)))
    .catch(reject)
  const url = await listening.finally(() => clearTimeout(timer))
  const serving = { url, process: child, said: () => said }
  servers.push(serving)
  return serving
}

const ask = (url: string, key: string, body: object = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo/echo',
      messages: [{ role: 'user', content: 'hi' }],
      ...body,
    }),
  })

describe('commands beside a running gateway', () => {
  test('change it from the next request, over its socket', async () => {
    cli.run(['init'])
    const { url } = await serve()
    expect(cli.run(['balance', 'top-up', '5']).code).toBe(0)
    const key = cli.run(['keys', 'create', 'ci']).out.trim()
    expect((await ask(url, key)).status).toBe(200)
    expect(cli.run(['limits', 'set', 'ci', '--rpm', '1']).out).toBe('ci: rpm none → 1\n')
    expect((await ask(url, key)).status).toBe(429)
    expect(cli.run(['limits', 'set', 'ci', '--rpm', 'none', '--allow', 'acme/*']).code).toBe(0)
    expect((await ask(url, key)).status).toBe(403)
    expect(cli.run(['keys', 'revoke', 'ci', '-y']).code).toBe(0)
    expect((await ask(url, key)).status).toBe(401)
    expect(cli.json(['ledger', '--kind', 'charge'])).toHaveLength(1)
    expect(cli.run(['keys', 'show', 'nobody'])).toMatchObject({
      code: 3,
      err: 'error: no key is called "nobody"\nhint: gatewayctl keys list\n',
    })
  })

  test('are not carried to a proxy of the environment', async () => {
    cli.run(['init'])
    await serve()
    const env = { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' }
    expect(cli.run(['status', '-q'], { env })).toEqual({ code: 0, out: '', err: '' })
  })

  test('status and doctor describe the running server', async () => {
    cli.run(['init'])
    cli.run(['rates', 'set', 'USD/RUB', '90'])
    const { url, process } = await serve()
    expect(cli.json(['status'])).toMatchObject({
      running: true,
      healthy: true,
      pid: process.pid,
      base_url: `${url}/v1`,
      in_flight: 0,
    })
    expect(cli.run(['status']).out).toContain(`● serving ${url}/v1`)
    expect(cli.run(['doctor'])).toMatchObject({ code: 0, err: '' })
    const socket = join(cli.dataDir, 'run', 'admin.sock')
    expect((statSync(socket).mode & 0o777).toString(8)).toBe('600')
    expect((statSync(join(cli.dataDir, 'run')).mode & 0o777).toString(8)).toBe('700')
  })

  test('a second server is refused with 1 and what to do, and the first goes on', async () => {
    const { url } = await serve()
    const second = cli.run(['serve', '--listen', '127.0.0.1:0'])
    expect(second.code).toBe(1)
    expect(second.err).toMatch(
      /^error: another gatewayctl process has .* open\nhint: stop it first, or serve another directory/,
    )
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(cli.run(['status', '-q']).code).toBe(0)
  })
})

describe('starting and stopping', () => {
  test('an empty directory becomes a gateway without a key, and init then makes one', async () => {
    const { said } = await serve()
    expect(said()).not.toContain('if-')
    expect(cli.json(['keys'])).toEqual([])
    expect(cli.run(['init']).out).toMatch(/^if-\w{49}\n$/)
  })

  test('models that an older program took from the catalog are recognised as its own', async () => {
    cli.run(['init', '--no-input'])
    cli.run(['providers', 'add', 'openai', '--key-file', '-', '--no-check'], { stdin: 'sk-test' })
    cli.run(['models', 'add', 'openai/mine', '--context', '8000'])
    const database = new Database(join(cli.dataDir, 'gateway.db'))
    database.run('UPDATE models SET catalogued = 0')
    database.close(true)
    await serve()
    const isCatalogued = (model: string) =>
      cli.json<{ is_catalogued: boolean }>(['models', 'show', model]).is_catalogued
    expect(['openai/gpt-4.1', 'openai/mine'].map(isCatalogued)).toEqual([true, false])
  })

  test('SIGTERM ends with 0 and takes the socket away', async () => {
    const { process } = await serve()
    process.kill('SIGTERM')
    expect(await process.exited).toBe(0)
    expect(existsSync(join(cli.dataDir, 'run', 'admin.sock'))).toBe(false)
    expect(cli.run(['status', '-q']).code).toBe(4)
  })

  test('after kill -9 commands open the store, and another server takes the socket over', async () => {
    cli.run(['init'])
    const { process } = await serve()
    process.kill('SIGKILL')
    await process.exited
    expect(existsSync(join(cli.dataDir, 'run', 'admin.sock'))).toBe(true)
    expect(cli.json(['keys'])).toHaveLength(1)
    expect(cli.run(['status']).code).toBe(4)
    await serve()
    expect(cli.run(['status', '-q']).code).toBe(0)
  })

  test('who has asked a server that dies is told that it may have been done', async () => {
    cli.run(['init'])
    const { process } = await serve()
    process.kill('SIGSTOP')
    const toppedUp = cli.runBeside(['balance', 'top-up', '1'])
    const socket = join(cli.dataDir, 'run', 'admin.sock')
    const connections = () => readFileSync('/proc/net/unix', 'utf8').split(socket).length - 1
    await until(() => connections() > 1, 'the command has asked')
    process.kill('SIGKILL')
    const { code, err } = await toppedUp
    expect(code).toBe(4)
    expect(err).toContain('ended before it answered; what was asked may have been done')
    expect(err).toContain('gatewayctl activity list --admin')
  })

  test('a server that hangs is not running, as far as status can tell', async () => {
    const { process } = await serve()
    process.kill('SIGSTOP')
    const [loud, quiet] = await Promise.all([
      cli.runBeside(['status']),
      cli.runBeside(['status', '-q']),
    ])
    expect(loud).toEqual({
      code: 4,
      out: '',
      err: expect.stringMatching(
        /^error: the gateway at .*admin\.sock does not answer \(waited 4 s\)\n/,
      ),
    })
    expect(quiet).toEqual({ code: 4, out: '', err: '' })
    process.kill('SIGCONT')
    expect(cli.run(['status', '-q']).code).toBe(0)
  })

  test('a directory that is held while nobody answers is an error, not a wait', async () => {
    await serve([], { GATEWAY_ADMIN_SOCKET: join(cli.home, 'elsewhere.sock') })
    const { code, out, err } = cli.run(['keys', 'list'])
    expect([code, out]).toEqual([4, ''])
    expect(err).toContain('another gatewayctl process has')
    const env = { GATEWAY_ADMIN_SOCKET: join(cli.home, 'elsewhere.sock') }
    expect(cli.run(['keys', 'list'], { env }).code).toBe(0)
  })

  test('an address in use is reported with another to try', () => {
    const holder = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const taken = `127.0.0.1:${holder.port}`
    const { code, out, err } = cli.run([
      'serve',
      '--demo',
      '--listen',
      taken,
      '--auth-listen',
      'off',
    ])
    holder.stop(true)
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(
      `error: cannot listen on ${taken}: the address is in use\nhint: gatewayctl serve --listen 127.0.0.1:4150\n`,
    )
  })

  test('charges may be made to wait for the disk', async () => {
    cli.run(['init'])
    const { url } = await serve(['--sync-charges'])
    cli.run(['balance', 'top-up', '5'])
    const key = cli.run(['keys', 'create', 'ci']).out.trim()
    expect((await ask(url, key)).status).toBe(200)
    const [charge] = cli.json(['ledger', 'list', '--kind', 'charge']) as { amount_usd: string }[]
    expect(charge?.amount_usd).toBe('-0.000003')
  })

  test('two gateways never share a port', async () => {
    const { url } = await serve()
    const taken = new URL(url).host
    const { code, err } = cli.run(['serve', '--demo', '--listen', taken, '--auth-listen', 'off'])
    expect(code).toBe(1)
    expect(err).toContain(`cannot listen on ${taken}: the address is in use`)
  })

  test('a socket path that the kernel cannot keep is refused before anything starts', () => {
    const env = { GATEWAY_ADMIN_SOCKET: `/tmp/${'x'.repeat(120)}.sock` }
    const { code, err } = cli.run(['serve'], { env })
    expect(code).toBe(2)
    expect(err).toContain('longer than 107 bytes')
    expect(existsSync(cli.dataDir)).toBe(false)
  })
})

describe('the demo', () => {
  test('what its banner says works as pasted', async () => {
    const { said } = await serve(['--demo'])
    const lines = said()
    const script = join(cli.home, 'paste.sh')
    const curls = lines.slice(lines.indexOf('  curl'), lines.indexOf('listening'))
    writeFileSync(script, curls)
    const pasted = Bun.spawnSync(['sh', script], { env: { PATH: process.env['PATH'] ?? '' } })
    const out = pasted.stdout.toString()
    expect(out).toContain('"content":"hi"')
    expect(out.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(existsSync(cli.dataDir)).toBe(false)
  })

  test('its key may ask ten times a minute, and has ten dollars', async () => {
    const { url, said } = await serve(['--demo'])
    const key = /OPENAI_API_KEY=(\S+)/.exec(said())?.[1] ?? ''
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await ask(url, key)).status),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  })
})

test('a closed log pipe neither stops the gateway nor adds errors', async () => {
  cli.run(['init', '--demo-credit', '5'])
  const secret = cli.run(['keys', 'create', 'web', '-q']).out.trim()
  const shell = `("$0" serve --listen 127.0.0.1:0 --auth-listen off; echo "exit $?" >&2) | head -n 1`
  const child = Bun.spawn(['sh', '-c', shell, BINARY], {
    cwd: cli.home,
    env: cli.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  // Having told one line, its reader leaves.
  const { value } = await child.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toMatch(/^\{.*"msg":"listening".*\}\n$/)
  const status = () => cli.json<{ pid: number; base_url: string }>(['status'])
  await until(() => status().pid > 0, 'it serves')
  const { pid, base_url } = status()
  onTestFinished(() => {
    child.kill('SIGKILL')
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
  })
  for (let count = 0; count < 3; count++) {
    const answer = await ask(base_url.replace(/\/v1$/, ''), secret)
    expect(answer.status).toBe(200)
    await answer.text()
  }
  process.kill(pid, 'SIGTERM')
  expect(await child.stderr.text()).toBe('exit 0\n')
})

/** Every line, which has to be JSON. */
const linesOf = (said: string) =>
  said
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('standard output is JSON from its first line: where it listens, then a line per request, without its text or its key', async () => {
  const key = cli.run(['init', '--demo-credit', '1']).out.trim()
  const { url, said } = await serve(['--auth-listen', 'off', '--log', 'json'])
  await (await ask(url, key, { user: 'someone' })).text()
  await expect.poll(said).toContain('"msg":"request"')
  expect(linesOf(said())).toEqual([
    {
      ts: expect.stringMatching(/^\d{4}-.*Z$/),
      level: 'info',
      msg: 'listening',
      version: expect.any(String),
      base_url: `${url}/v1`,
      auth_url: null,
      metrics_url: null,
      data_dir: cli.dataDir,
    },
    expect.objectContaining({ status: 200, model: 'demo/echo', provider: 'demo' }),
  ])
  expect(said()).not.toContain(key)
})

test('with --log json standard error is JSON too: warnings, failures, a drain, the error that ends it', async () => {
  const key = cli.run(['init', '--demo-credit', '1']).out.trim()
  const { url, said, process } = await serve(
    ['--auth-listen', '127.0.0.1:0', '--auth-url', 'http://auth.example', '--log', 'json'],
    { GATEWAY_TRACES_ENDPOINT: 'http://127.0.0.1:9/v1/traces' },
  )
  const second = cli.run(['serve', '--listen', '127.0.0.1:0', '--log', 'json'])
  expect([second.code, second.out, linesOf(second.err)]).toMatchObject([
    1,
    '',
    [{ level: 'error', code: 'store_unavailable', hint: expect.any(String), exit_code: 1 }],
  ])
  const unread = cli.run(['serve', '--log', 'json', '--drain', 'soon', '--debug'])
  expect(linesOf(unread.err)).toMatchObject([
    { level: 'error', code: 'usage', exit_code: 2, stack: expect.stringContaining('CommandError') },
  ])
  // A timer of so many days would cut every running answer at once.
  for (const flag of ['--drain', '--unready']) {
    expect(cli.run(['serve', flag, '25d']).err).toContain(`${flag} must be at most 24h`)
  }
  const answer = await ask(url, key, { model: 'demo/lorem', stream: true, user: 'rate-40' })
  process.kill('SIGTERM')
  await expect.poll(said).toContain('stopping')
  await answer.text()
  await process.exited
  await expect.poll(said).toContain('"fault"')
  const ts = expect.stringMatching(/^\d{4}-.*Z$/)
  expect(linesOf(said()).filter(({ msg }) => msg !== 'request' && msg !== 'listening')).toEqual([
    {
      ts,
      level: 'warn',
      msg: 'sign-in without TLS: codes and sessions travel in clear text',
      hint: 'put a TLS proxy in front and give its URL: --auth-url https://auth.example',
    },
    { ts, level: 'info', msg: 'stopping: waiting up to 300 s for 1 in progress' },
    {
      ts,
      level: 'error',
      msg: 'fault',
      fault: expect.stringContaining('traced requests were lost'),
    },
  ])
})

function watchErrors(): string[] {
  const written: string[] = []
  const write = vi.spyOn(process.stderr, 'write')
  write.mockImplementation((text: unknown, done: unknown) => {
    written.push(String(text))
    if (typeof done === 'function') done()
    return true
  })
  onTestFinished(() => write.mockRestore())
  openOutlets({ out: String, error: String })
  return written
}

test('a failure in the log has the id that a page shows for it', () => {
  const written = watchErrors()
  const context = openContext({}, {}, [])
  startRequestLog(context, true).fault(new Error('broken'), 'err_1')
  startRequestLog({ ...context, isJsonLog: true }, false).fault(new Error('broken'), 'err_1')
  const [text = '', line = ''] = written
  expect(text).toMatch(/^fault: err_1 Error: broken\n/)
  expect(JSON.parse(line)).toMatchObject({ error_id: 'err_1', fault: expect.any(String) })
})

test('a failure in the log names the host and what it said', () => {
  const written = watchErrors()
  const { fault } = startRequestLog(openContext({}, {}, []), true)
  fault(new Error('no round', { cause: unreachable(new Map([['db1:5432', 'it is a standby']])) }))
  expect(written.join()).toContain(
    'caused by: GatewayError: the gateway cannot reach its database (db1:5432: it is a standby); nothing',
  )
})

test('a demo prints its banner into a pipe too, or one line of JSON on request', async () => {
  const demo = ['--demo', '--auth-listen', 'off']
  expect((await serve(demo)).said()).toContain('  export OPENAI_BASE_URL=')
  const { url, said } = await serve([...demo, '--log', 'json'])
  const [line = {}, ...more] = linesOf(said())
  expect([line, more]).toMatchObject([{ msg: 'listening', base_url: `${url}/v1`, demo: true }, []])
  expect((await ask(url, String(line['key']))).status).toBe(200)
})

test('on request the first lines are for people', async () => {
  cli.run(['init'])
  const { url, said } = await serve(['--auth-listen', 'off', '--log', 'pretty'])
  expect(said()).toContain(`\nlistening on ${url}/v1; ctrl-c stops\n`)
})
