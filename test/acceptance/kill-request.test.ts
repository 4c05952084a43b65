/** `gatewayctl activity kill`: a request in progress is ended within three seconds, by each of its names, and by no other's. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'

/** How long a client may still have to wait. */
const MAX_END_MS = 3_000

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  cli.json(['accounts', 'create', 'acme'])
  gateway = await startAppliance(cli)
})
afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

/** For a stream that goes on until it is ended. */
const ask = (key: string, requestId: string): Promise<Response> =>
  gateway.chat(
    key,
    {
      model: 'demo/lorem',
      stream: true,
      max_tokens: 100_000,
      messages: [{ role: 'user', content: 'go on' }],
    },
    {
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
      },
    },
  )

/** One of a key of its own, which has begun. */
async function talk(requestId: string) {
  const { key } = await gateway.verb('keys.create', { name: `of ${requestId} ${Math.random()}` })
  const answer = await ask(key, requestId)
  const id = answer.headers.get('x-generation-id') ?? ''
  const heard = answer.text()
  await until(
    async () => ((await gateway.verb('activity.running', { id })).completion_tokens ?? 0) > 0,
    'it talks',
  )
  return { id, heard }
}

const kill = (...args: readonly string[]) => cli.run(['activity', 'kill', ...args])

describe('a request in progress', () => {
  test.each([
    ['its id', ({ id }: { readonly id: string }) => id],
    ['the request id of its client', () => 'asked by its client'],
    ['what a list shows of its id', ({ id }: { readonly id: string }) => `gen-…${id.slice(-6)}`],
    ['what the dashboard shows of it', ({ id }: { readonly id: string }) => id.slice(-8)],
  ])('is ended by %s', async (_, nameOf) => {
    const { id, heard } = await talk('asked by its client'.replaceAll(' ', '-'))
    const name = nameOf({ id }).replaceAll(' ', '-')
    const before = performance.now()
    expect(kill(name, '--yes')).toMatchObject({
      code: 0,
      out: '',
      err: `✓ ended ${id} (demo/lorem)\nnext: gatewayctl activity show ${id}\n`,
    })
    expect(await heard).toContain('ended_by_operator')
    expect(performance.now() - before).toBeLessThan(MAX_END_MS)
    const receipt = cli.json<{ code: string; cost_usd: string }>(['activity', 'show', id])
    expect(receipt.code).toBe('ended_by_operator')
    expect(Number(receipt.cost_usd)).toBeGreaterThan(0)
    const [act] = cli.json<readonly object[]>(['activity', 'list', '--admin'])
    expect(act).toMatchObject({ verb: 'activity.kill', target: id })

    // A list shows its end, and that is enough for what explains it.
    const end = `gen-…${id.slice(-6)}`
    expect(cli.json(['why', end])).toMatchObject({ id })
    expect(cli.json(['activity', 'show', id.slice(-8)])).toMatchObject({ id })

    expect(kill(id, '--yes')).toEqual({
      code: 3,
      out: '',
      err: `error: request ${id} has ended: ended_by_operator, ended by gateway\nhint: gatewayctl activity show ${id}\n`,
    })
  })

  test('is seen and ended while it waits for money that another holds', async () => {
    const { key } = await gateway.verb('keys.create', {
      name: 'short',
      daily_spend_limit_usd: '0.3',
    })
    // At two dollars a million, either may cost 20 cents.
    const holder = await ask(key, 'holds')
    const held = holder.text()
    const queued = ask(key, 'queued')
    await until(
      async () => (await gateway.verb('activity.running', { id: 'queued' })).state === 'queued',
      'it waits',
    )
    expect(await gateway.verb('activity.running', { id: 'queued' })).toMatchObject({
      model: 'demo/lorem',
      provider: null,
      cost_usd: '0',
    })
    expect(kill('queued', '--yes').code).toBe(0)
    const refused = await queued
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('ended_by_operator')
    expect(kill('holds', '--yes').code).toBe(0)
    await held
  })

  test('goes on while nobody has agreed', async () => {
    const { id, heard } = await talk('unasked')
    expect(kill('unasked')).toEqual({
      code: 5,
      out: '',
      err: `error: refusing to end ${id} without confirmation (stdin is not a terminal)\nhint: gatewayctl activity kill unasked --yes\n`,
    })
    expect(await gateway.verb('activity.running', { id })).toMatchObject({ id })
    expect(kill(id, '-y', '-q')).toEqual({ code: 0, out: `${id}\n`, err: '' })
    await heard
  })

  test('of several with one name each is named, and none is ended', async () => {
    const [one, other] = [await talk('twice'), await talk('twice')]
    const { code, err } = kill('twice', '--yes')
    expect(code).toBe(3)
    expect(err).toContain('error: "twice" means several requests in progress\n')
    for (const { id } of [one, other]) {
      expect(err).toMatch(new RegExp(`^ {2}${id} \\(since .*Z, of twice .*, demo/lorem\\)$`, 'm'))
    }
    expect(kill(one.id, '--yes').code).toBe(0)
    await one.heard
    // Now it is one alone.
    expect(kill('twice', '--yes').err).toContain(`ended ${other.id} `)
    await other.heard
  })

  test('is not ended under another account', async () => {
    const { id, heard } = await talk('ours')
    for (const name of [id, 'ours', id.slice(-6)]) {
      expect(kill(name, '--yes', '--account', 'acme')).toEqual({
        code: 3,
        out: '',
        err: `error: request ${name} is of account default, not of acme\nhint: repeat it with --account default\n`,
      })
    }
    expect(kill('ours', '--yes', '--account', 'default').code).toBe(0)
    await heard
  })

  test.skipIf(!hasTerminals)('is asked about at a terminal', async () => {
    const { id, heard } = await talk('seen')
    const declined = openTerminal(cli, `gatewayctl activity kill ${id}`)
    await declined.says('its client gets an error. [y/N] ')
    expect(declined.shown()).toContain(`end ${id}? of seen`)
    declined.type('n\n')
    expect(await declined.exited).toBe(5)
    const agreed = openTerminal(cli, `gatewayctl activity kill ${id}`)
    await agreed.says('[y/N] ')
    agreed.type('y\n')
    expect(await agreed.exited).toBe(0)
    expect(await heard).toContain('ended_by_operator')
  })
})

test('what is not in progress: exit 3, and where to look', () => {
  expect(kill('nobody', '--yes')).toEqual({
    code: 3,
    out: '',
    err: 'error: no request in progress is called "nobody"\n  what has ended is in the log: gatewayctl activity list\nhint: gatewayctl dashboard --once\n',
  })
})

test('without a gateway nothing is in progress: exit 4', async () => {
  const alone = furnishCli(openCli())
  const { code, err } = alone.run(['activity', 'kill', 'gen-1', '--yes'])
  alone.close()
  expect([code, err]).toEqual([
    4,
    `error: no gateway is running on this data directory (${alone.dataDir})\nhint: gatewayctl serve\n`,
  ])
})
