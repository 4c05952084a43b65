/** The dashboard of the compiled binary in a real terminal: under load, resized, suspended, left alone, and broken. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { CHART, SNAPSHOT } from '#test/cli/dashboard/fixed-snapshot.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import { openTerminal, TMUX, type TmuxTerminal } from '#test/support/tmux.ts'

const VERSION = Bun.spawnSync([BINARY, '--version']).stdout.toString().trim()

let cli: CliHarness
let gateways: Appliance[] = []

beforeEach(() => {
  cli = furnishCli(openCli())
})
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.kill()))
  gateways = []
  cli.close()
})

async function serve(): Promise<Appliance> {
  const gateway = await startAppliance(cli)
  gateways.push(gateway)
  return gateway
}

/** So many streams that go on until the test is over. */
async function keepTalking(gateway: Appliance, streams: number): Promise<void> {
  const { key } = await gateway.verb('keys.create', { name: 'talker' })
  const talks = await Promise.all(
    Array.from({ length: streams }, (_, place) =>
      gateway.chat(key, {
        model: 'demo/lorem',
        stream: true,
        max_tokens: 100_000,
        user: `u_${place} rate-${1 + (place % 9)}`,
        messages: [{ role: 'user', content: 'go on' }],
      }),
    ),
  )
  // Held on to, and read: an answer that nobody reads is one whose client has stalled.
  const readers = talks.map(({ body }) => body?.pipeTo(new WritableStream()).catch(() => {}))
  onTestFinished(() => void readers.length)
}

async function openDashboard(
  columns: number,
  rows: number,
  { flags = '', env = {} }: { flags?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<TmuxTerminal> {
  const terminal = await openTerminal(cli, columns, rows, env)
  terminal.send(`${BINARY} dashboard ${flags}`, 'Enter')
  await terminal.shows('? help')
  return terminal
}

/** The shell is back, on its own screen, with its cursor, and hears what is typed. */
async function isClean(terminal: TmuxTerminal): Promise<void> {
  await until(() => terminal.tell('alternate_on') === '0', 'the other screen is left')
  // What is typed before it is the shell's turn would be heard by nobody.
  await until(() => terminal.tell('pane_current_command') === 'bash', 'the shell is back')
  expect(terminal.tell('cursor_flag')).toBe('1')
  expect(terminal.tell('wrap_flag')).toBe('1')
  terminal.send('echo it-is-$((40+2))', 'Enter')
  await terminal.shows('it-is-42')
  await terminal.shows(/\$ echo it-is-\$\(\(40\+2\)\)/)
}

describe.skipIf(TMUX === null)('in a terminal', () => {
  const STREAMS = FULL ? 200 : 20

  test(`${STREAMS} streams: no torn frame in as many captures`, {
    timeout: 120_000,
  }, async () => {
    const gateway = await serve()
    await keepTalking(gateway, STREAMS)
    const terminal = await openDashboard(120, 40, { flags: '--fps 10' })
    await terminal.shows(`${STREAMS} of ${STREAMS} in flight`)
    const seen = new Set<string>()
    // It is alive all the time: frames follow one another, however fast this looks.
    for (let look = 0; look < STREAMS || seen.size <= STREAMS / 10; look++) {
      const screen = terminal.screen()
      expect(torn(screen, 120, 40), screen).toEqual([])
      seen.add(screen)
      await Bun.sleep(10)
    }
    expect(seen.size).toBeGreaterThan(STREAMS / 10)
    terminal.send('q')
    await isClean(terminal)
  })

  test.runIf(FULL)('sizes, one after the other', async () => {
    await keepTalking(await serve(), 5)
    const terminal = await openDashboard(120, 40)
    for (const [columns, rows] of [
      [80, 24],
      [60, 15],
      [200, 60],
      [80, 24],
    ] as const) {
      terminal.resize(columns, rows)
      await until(() => torn(terminal.screen(), columns, rows).length === 0, `${columns}×${rows}`)
    }
    terminal.resize(50, 10)
    await terminal.shows('50×10 is too small: 60×15 at least')
    expect(terminal.screen().trim().split('\n')).toHaveLength(1)
    terminal.resize(80, 24)
    await until(() => torn(terminal.screen(), 80, 24).length === 0, 'it is back')
  })

  const NARROWED = [
    [100, 24, 99, 24],
    [110, 24, 109, 30],
    [120, 40, 81, 24],
  ] as const

  test.runIf(FULL).each(NARROWED)(
    'narrowed from %i×%i to %i×%i',
    async (columns, rows, narrower, then) => {
      await keepTalking(await serve(), 5)
      const terminal = await openDashboard(columns, rows)
      await until(() => torn(terminal.screen(), columns, rows).length === 0, 'it is drawn')
      terminal.resize(narrower, then)
      // The old frame, cut by a column, would pass for a new one: once its clock has gone on it is none any more.
      const clock = (): string | undefined =>
        /(\d\d:\d\d:\d\d)Z /.exec(terminal.screen().split('\n')[0] ?? '')?.[1]
      const clocks = new Set<string>()
      await until(() => clocks.add(clock() ?? [...clocks][0] ?? '').size > 2, 'it is drawn anew')
      const screen = terminal.screen()
      expect(torn(screen, narrower, then), screen).toEqual([])
      const beginnings = [
        ' gatewayctl ',
        ' in flight ',
        ' req/s ',
        ' today ',
        ' balance ',
        '─[1 Live]',
      ]
      for (const [row, beginning] of beginnings.entries()) {
        expect(screen.split('\n')[row]?.slice(0, beginning.length), screen).toBe(beginning)
      }
      terminal.send('q')
      await isClean(terminal)
    },
  )

  test('ctrl-z gives the terminal back, fg takes it again', async () => {
    await keepTalking(await serve(), 5)
    const terminal = await openDashboard(80, 24)
    terminal.send('2')
    await terminal.shows('[2 Keys]')
    terminal.send('C-z')
    await terminal.shows('Stopped')
    await isClean(terminal)
    terminal.send('fg', 'Enter')
    await terminal.shows('[2 Keys]')
    await until(() => torn(terminal.screen(), 80, 24).length === 0, 'all of it is drawn again')
    expect(terminal.tell('alternate_on')).toBe('1')
    expect(terminal.tell('wrap_flag')).toBe('0')
    terminal.send('C-c')
    await isClean(terminal)
    terminal.send('echo exit-$?', 'Enter')
    await terminal.shows('exit-0')
  })

  test.runIf(FULL)('after a kill it reconnects when the gateway is back', async () => {
    const gateway = await serve()
    await keepTalking(gateway, 5)
    const terminal = await openDashboard(120, 40)
    await terminal.shows('5 of 5 in flight')
    await gateway.kill()
    const away = await terminal.shows(/○ reconnecting \ds/)
    expect(away).toContain('5 of 5 in flight')
    expect(away).toContain(`pid ${gateway.pid}`)
    await terminal.shows(/○ reconnecting [1-9]s/)
    const next = await serve()
    await terminal.shows(`pid ${next.pid}`)
    expect(await terminal.shows('● serving')).toContain('0 of 0 in flight')
  })

  test.runIf(FULL)(
    'a gateway that hangs is not shown as serving, and is again once it goes on',
    async () => {
      const gateway = await serve()
      const terminal = await openDashboard(80, 24)
      await terminal.shows('● serving')
      process.kill(gateway.pid, 'SIGSTOP')
      await terminal.shows(/○ not answering \ds/)
      const once = await cli.runBeside(['dashboard', '--once'])
      expect(once).toMatchObject({ code: 4, err: expect.stringContaining('does not answer') })
      process.kill(gateway.pid, 'SIGCONT')
      await terminal.shows('● serving')
    },
  )

  test('a request is ended from it, and what it cost stands in the log', async () => {
    const gateway = await serve()
    await keepTalking(gateway, 1)
    const terminal = await openDashboard(80, 24)
    await terminal.shows('1 of 1')
    terminal.send('x')
    await terminal.shows('end talker · demo/lorem?')
    terminal.send('y')
    await terminal.shows(/ended gen-\w+ \(demo\/lorem\)/)
    await terminal.shows('0 of 0')
    terminal.send('5')
    await terminal.shows(/503 talker +demo\/lorem .*ended_by/)
    const [line] = await gateway.verb('activity.list', {})
    expect(line).toMatchObject({ code: 'ended_by_operator', ended_by: 'gateway' })
    expect(Number(line?.cost_usd)).toBeGreaterThan(0)
    const acts = cli.json<readonly object[]>(['activity', 'list', '--admin'])
    expect(acts[0]).toMatchObject({ verb: 'activity.kill', target: line?.id })
  })

  test.runIf(FULL)('the page of a request stays with it, and shows how it ended', async () => {
    const gateway = await serve()
    await keepTalking(gateway, 3)
    const terminal = await openDashboard(80, 24)
    await terminal.shows('3 of 3')
    terminal.send('Enter')
    const [, id = ''] =
      /^─ (gen-\w+) ─+ streaming ─$/m.exec(await terminal.shows('request id')) ?? []
    terminal.send('x')
    await terminal.shows(/^ end talker · demo\/lorem\? .*\[y\/N\] *$/m)
    expect(terminal.screen()).toContain(`─ ${id} ─`)
    terminal.send('n')
    await terminal.shows('cancelled')
    // Somebody else ends it.
    expect((await cli.runBeside(['activity', 'kill', id, '--yes'])).code).toBe(0)
    await terminal.shows(new RegExp(`^─ ${id} ─+ 503 ended_by_operator ─$`, 'm'))
    terminal.send('x')
    await terminal.shows(`${id} has ended`)
    terminal.send('y')
    terminal.send('Escape')
    await terminal.shows('2 of 2')
  })

  test.runIf(FULL)('a slow request prints no progress line over the dashboard', async () => {
    serveSlow(join(cli.dataDir, 'run', 'admin.sock'), 1_500)
    const terminal = await openDashboard(80, 24)
    terminal.send('x', 'y')
    await terminal.shows(/^ ending gen-\w+…$/m)
    await terminal.shows(/^ ended gen-\w+ \(demo\/lorem\) *$/m)
    terminal.send('4')
    await terminal.shows('loading…')
    await terminal.shows('─ by key ─')
    expect(terminal.screen()).toMatch(/^ m metric .* q quit *$/m)
  })

  test.runIf(FULL)('beside a demo each screen is whole', async () => {
    const env = { GATEWAY_DATA_DIR: '' }
    gateways.push(await startAppliance(cli, { flags: ['--demo'], env }))
    const terminal = await openDashboard(80, 24, { env })
    for (const key of ['4', 'b', 'm', 'd', '6', '1']) {
      terminal.send(key)
      await terminal.shows(
        key === '1' ? '[1 Live]' : key === '6' ? /─ days ─+ last 14 d ─/ : '─ ledger ─',
      )
    }
    expect(torn(terminal.screen(), 80, 24)).toEqual([])
  })

  test.runIf(FULL)('input typed before the start is handled, and not shown', async () => {
    await serve()
    const terminal = await openTerminal(cli, 80, 24)
    terminal.send(`${BINARY} dashboard`, 'Enter')
    await until(() => {
      terminal.send('5')
      return terminal.screen().includes('[5 Log]')
    }, 'it hears what is typed')
    await until(() => torn(terminal.screen(), 80, 24).length === 0, 'it is whole')
    terminal.send('q')
    await isClean(terminal)
  })

  test.runIf(FULL)('ctrl-l draws over whatever something else has written', async () => {
    await keepTalking(await serve(), 3)
    const terminal = await openDashboard(80, 24)
    await terminal.shows('3 of 3')
    writeFileSync(terminal.tell('pane_tty'), 'a job\r\nin the\r\nbackground\r\n\u001b[5;5Hhere too')
    await until(() => torn(terminal.screen(), 80, 24).length > 0, 'it is torn')
    terminal.send('C-l')
    await until(() => torn(terminal.screen(), 80, 24).length === 0, 'it is whole')
    expect(terminal.screen()).not.toMatch(/a job|in the|background|here too/)
  })

  test.runIf(FULL)(
    'without a gateway it opens no store; the chart loads after a reconnect',
    async () => {
      const gateway = await serve()
      const terminal = await openDashboard(80, 24)
      await gateway.kill()
      await terminal.shows(/○ reconnecting \ds/)
      terminal.send('4')
      await terminal.shows('loading…')
      await terminal.shows(/○ reconnecting [2-9]s/)
      expect(terminal.screen()).toContain('loading…')
      await serve()
      await terminal.shows('─ by key ─')
    },
  )

  test.runIf(FULL)('NO_COLOR, CI and DEV change only the colours', async () => {
    await serve()
    const env = { NO_COLOR: '1', CI: '1', DEV: 'true' }
    const terminal = await openDashboard(80, 24, { env })
    await until(() => torn(terminal.screen(), 80, 24).length === 0, 'it is drawn')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for
    expect(terminal.screen(true)).not.toMatch(/\u001b\[[0-9;]*[1-9][0-9;]*m/)
    terminal.send('q')
    await isClean(terminal)
    const coloured = await openDashboard(80, 24)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for
    expect(coloured.screen(true)).toMatch(/\u001b\[[0-9;]*[1-9][0-9;]*m/)
  })

  test.each([
    [
      VERSION,
      'exit-70',
      /^error: the dashboard crashed: .+$/m,
      'hint: gatewayctl dashboard --once',
    ],
    [
      '9.9.9',
      'exit-1',
      /^error: what the running gateway answers, of v9\.9\.9, .+$/m,
      'hint: restart',
    ],
  ])(
    'a crash beside a gateway of %s restores the terminal, prints why, and is %s',
    async (...row) => {
      const [version, exit, error, hint] = row
      serveBroken(join(cli.dataDir, 'run', 'admin.sock'), SNAPSHOT, version)
      const terminal = await openTerminal(cli, 80, 24)
      terminal.send(`${BINARY} dashboard; echo exit-$?`, 'Enter')
      const screen = await terminal.shows(exit)
      expect(screen).toMatch(error)
      expect(screen).toContain(hint)
      expect(screen).not.toMatch(/\bat \w+ \(|bunfs|node_modules/)
      await isClean(terminal)
    },
  )
})

/** What is wrong with a frame; nothing is missing from a whole one, and nothing of another is left in it. */
function torn(screen: string, columns: number, rows: number): readonly string[] {
  const lines = screen.split('\n').slice(0, rows)
  const wrong: string[] = []
  if (!/^ gatewayctl ● serving .* \? help ?$/.test(lines[0] ?? '')) wrong.push('the first line')
  if (!/^ .* q quit ?$/.test(lines[rows - 1] ?? '')) wrong.push('the last line')
  const tabs = lines.filter((line) => /^─.1 Live.─.2 Keys.─/.test(line))
  if (tabs.length !== 1 || Bun.stringWidth(tabs[0] ?? '') !== columns) wrong.push('the tabs')
  if (lines.some((line) => Bun.stringWidth(line) > columns)) wrong.push('the width')
  const first = lines.findIndex((line) => line.includes('ELAPSED')) + 1
  const requests = first === 0 ? [] : lines.slice(first, lines.indexOf('', first))
  for (const line of requests.filter((one) => one.includes('demo/'))) {
    if (!/^ [▸ ] (\S{8} )?\S+ +demo\/\S+ .* [\d.]+(s|m\d\ds) .*[≋…·] *$/.test(line))
      wrong.push(line)
  }
  return wrong
}

/** A gateway of this version whose second frame nobody can draw. */
function serveBroken(path: string, first: object, version: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const encoder = new TextEncoder()
  const server = Bun.serve({
    unix: path,
    fetch: () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(encoder.encode(`${JSON.stringify(first)}\n`))
            await Bun.sleep(500)
            controller.enqueue(encoder.encode('{"at":"2026-11-21T12:41:08Z","traffic":{}}\n'))
          },
        }),
        { headers: { 'x-gateway-version': version } },
      ),
  })
  onTestFinished(() => server.stop(true))
}

/** A gateway that answers a verb so late. */
function serveSlow(path: string, answerMs: number): void {
  mkdirSync(dirname(path), { recursive: true })
  const id = SNAPSHOT.in_flight.requests[0]?.id ?? ''
  const records: Readonly<Record<string, object>> = {
    '/verbs/activity.kill': { object: 'activity.killed', id, model: 'demo/lorem', ended: true },
    '/verbs/usage.chart': CHART,
  }
  const server = Bun.serve({
    unix: path,
    async fetch({ url }) {
      const record = records[new URL(url).pathname]
      if (record === undefined) return watch()
      await Bun.sleep(answerMs)
      return Response.json(record)
    },
  })
  onTestFinished(() => server.stop(true))
}

/** One frame, and no end. */
const watch = (): Response =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`${JSON.stringify(SNAPSHOT)}\n`))
      },
    }),
  )

describe('without a terminal', () => {
  test('it is refused with what to use instead', async () => {
    await serve()
    expect(cli.run(['dashboard'])).toEqual({
      code: 2,
      out: '',
      err: 'error: the dashboard needs a terminal\nhint: gatewayctl dashboard --once, or gatewayctl status --json\n',
    })
  })

  test('one frame is printed, of any screen, plain or as JSON', async () => {
    await serve()
    const { code, out, err } = cli.run(['dashboard', '--once'])
    expect([code, err]).toEqual([0, ''])
    expect(out.split('\n')).toHaveLength(25)
    expect(out).toMatch(/^ gatewayctl ● serving 127\.0\.0\.1:\d+/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it must hold none
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    for (const screen of ['keys', 'models', 'spend', 'log', 'trend']) {
      const one = cli.run(['dashboard', '--once', '--ascii', '--screen', screen])
      expect([screen, one.code, one.err]).toEqual([screen, 0, ''])
      expect(one.out).toMatch(/^[ -~\n]+$/)
      expect(one.out.toLowerCase()).toMatch(new RegExp(`\\[\\d ${screen}\\]`))
    }
    const wide = cli.run(['dashboard', '--once'], { env: { COLUMNS: '120', LINES: '40' } })
    expect(wide.out.split('\n')).toHaveLength(41)
    expect(wide.out).toContain('keys nearest a limit')
    expect(cli.json(['dashboard'])).toMatchObject({
      gateway: { healthy: true },
      money: { account: 'default', balance_usd: '1000.00' },
    })
  })

  test('a gateway of another version is reported, not a crash', async () => {
    const { money: _, ...older } = SNAPSHOT
    serveBroken(join(cli.dataDir, 'run', 'admin.sock'), older, '0.1.9')
    const child = Bun.spawn([BINARY, 'dashboard', '--once'], {
      cwd: cli.home,
      env: cli.env,
      stderr: 'pipe',
    })
    expect(await child.stderr.text()).toBe(
      `! the running gateway is of v0.1.9, this command of v${VERSION}: restart the gateway with the newer one
error: what the running gateway answers, of v0.1.9, cannot be read by v${VERSION}
hint: restart the gateway with the newer one
`,
    )
    expect(await child.exited).toBe(1)
  })

  test('a missing gateway, an unknown account and an invalid rate are errors', async () => {
    expect(cli.run(['dashboard', '--once'])).toEqual({
      code: 4,
      out: '',
      err: `error: no gateway is running on this data directory (${cli.dataDir})\nhint: gatewayctl serve\n`,
    })
    await serve()
    expect(cli.run(['dashboard', '--once', '--account', 'nobody'])).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/^error: no account is called "nobody"/),
    })
    expect(cli.run(['dashboard', '--once', '--fps', '11']).code).toBe(2)
    expect(cli.run(['dashboard', '--once', '--screen', 'lives']).code).toBe(2)
  })
})
