/** `activity tail`: requests of a serving gateway as they end, on a pipe of one's own. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
let appliance: Appliance
let secret: string

beforeAll(async () => {
  cli = furnishCli(openCli())
  secret = cli.run(['keys', 'create', 'web', '-q']).out.trim()
  cli.run(['keys', 'create', 'quiet', '-q', '--rpm', '1'])
  appliance = await startAppliance(cli)
})
afterAll(async () => {
  await appliance.kill()
  cli.close()
})

const ask = async (model: string, key = secret): Promise<string> => {
  const answer = await appliance.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] })
  await answer.text()
  return answer.headers.get('x-generation-id') ?? ''
}

/** A tail that listens already. */
async function startTail(args: readonly string[]) {
  const child = Bun.spawn([BINARY, 'activity', 'tail', ...args], {
    cwd: cli.home,
    env: cli.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  onTestFinished(() => child.kill('SIGKILL'))
  let out = ''
  void (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) out += piece
  })()
  const lines = () => out.split('\n').slice(0, -1)
  // Nothing tells from outside that it listens: a request of another model is sent until it is seen.
  return { child, lines }
}

/** Waits until a tail tells of what is asked over and over. */
async function heard(lines: () => readonly string[], model: string, key?: string): Promise<void> {
  await until(async () => {
    await ask(model, key)
    return lines().length > 0
  }, 'tail printed a request')
}

test('each request is one line as it ends, in JSON as the log has it', async () => {
  const { child, lines } = await startTail(['--json'])
  await heard(lines, 'demo/echo')
  const id = await ask('demo/lorem')
  await until(() => lines().some((line) => line.includes(id)), 'tail printed it')
  const told = JSON.parse(lines().find((line) => line.includes(id)) ?? '') as Record<
    string,
    unknown
  >
  const [listed] = cli.json<object[]>(['activity', 'list', '--model', 'demo/lorem'])
  const { message, ...line } = told
  expect(message).toBeNull()
  expect(line).toEqual(listed)
  child.kill('SIGINT')
  expect(await child.exited).toBe(130)
})

test('a pipe gets tab-separated fields, filtered', async () => {
  const { lines } = await startTail(['--errors', '--status', '4xx', '--key', 'quiet'])
  const quiet = cli.run(['keys', 'rotate', 'quiet', '-q']).out.trim()
  await heard(lines, 'demo/echo', quiet)
  await ask('demo/lorem')
  const fields = lines()[0]?.split('\t') ?? []
  expect([fields[1], fields[3], fields[4], fields[9]]).toEqual([
    '429',
    'quiet',
    'demo/echo',
    'rate_limit_exceeded',
  ])
  expect(fields[10]).toMatch(/^key quiet used 1 of 1 requests in 60 seconds/)
  expect(lines().every((line) => line.split('\t')[3] === 'quiet')).toBe(true)
})

test('a reader that has left ends it', async () => {
  const child = Bun.spawn(['sh', '-c', `"${BINARY}" activity tail -q | head -n 1`], {
    cwd: cli.home,
    env: cli.env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let isOver = false
  const asking = (async () => {
    while (!isOver) await ask('demo/echo')
  })()
  expect(await child.stdout.text()).toMatch(/^gen-\w+\n$/)
  expect(await child.exited).toBe(0)
  isOver = true
  await asking
})

test('invalid filters are refused, by the command or by the gateway', async () => {
  expect(cli.run(['activity', 'tail', '--status', 'bad'])).toMatchObject({ code: 2, out: '' })
  const { code, err } = cli.run(['activity', 'tail', '--key', 'wbe'])
  expect({ code, err }).toEqual({
    code: 3,
    err: expect.stringContaining('error: no key is called "wbe"\n  did you mean web'),
  })
})

test('it ends with 4 where no gateway runs, and when the gateway stops', async () => {
  const other = openCli()
  onTestFinished(() => other.close())
  furnishCli(other)
  expect(other.run(['activity', 'tail'])).toEqual({
    code: 4,
    out: '',
    err: `error: no gateway is running on this data directory (${other.dataDir})\nhint: gatewayctl serve        past requests: gatewayctl activity list\n`,
  })
  const { child, lines } = await startTail(['-q'])
  await heard(lines, 'demo/echo')
  expect(await appliance.stop()).toBe(0)
  expect(await child.exited).toBe(4)
  expect(await child.stderr.text()).toContain('error: the gateway has stopped')
})
