/** The dashboard in Ink on a terminal of our own: keys in pieces, sizes, the other screen, and how it is left. */
import { render } from 'ink'
import { afterEach, describe, expect, test } from 'vitest'
import { Dashboard } from '#cli/dashboard/app.tsx'
import {
  type Controller,
  type DashboardActions,
  startController,
} from '#cli/dashboard/controller.ts'
import type { FeedOptions } from '#cli/dashboard/feed.ts'
import { UNICODE } from '#cli/dashboard/glyphs.ts'
import { plain } from '#cli/dashboard/line.ts'
import { until } from '#test/support/appliance.ts'
import { FakeKeyboard, FakeScreen } from './fake-terminal.ts'
import { CHART, running, SNAPSHOT } from './fixed-snapshot.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A dashboard whose frames and gateway are the test's own. */
function open(actions: Partial<DashboardActions> = {}, size = { columns: 80, rows: 24 }) {
  const screen = new FakeScreen(size.columns, size.rows)
  const keyboard = new FakeKeyboard()
  const asked: string[] = []
  let feed: FeedOptions | null = null
  const controller: Controller = startController({
    source: { socket: '/nowhere', account: undefined },
    actions: {
      chart: async () => CHART,
      kill: async () => 'ended',
      seen: async () => {},
      accounts: async () => ['default', 'acme'],
      ...actions,
    },
    glyphs: UNICODE,
    typed: [],
    screen: 'live',
    fps: 4,
    first: SNAPSHOT,
    feed(options) {
      feed = options
      return {
        setAccount: (account) => asked.push(`account ${account ?? 'all'}`),
        setRate: (fps) => asked.push(`rate ${fps}`),
        reconnect: () => asked.push('reconnect'),
        stop: () => asked.push('stop'),
      }
    },
  })
  const copied: string[] = []
  const instance = render(
    <Dashboard
      controller={controller}
      painter={plain}
      write={(text) => copied.push(text)}
      erase={() => instance.clear()}
    />,
    {
      stdout: screen as never,
      stdin: keyboard as never,
      stderr: new FakeScreen(80, 24) as never,
      alternateScreen: true,
      interactive: true,
      exitOnCtrlC: false,
      patchConsole: false,
      // Whole frames, so that the last one can be read out of what was written.
      incrementalRendering: false,
      maxFps: 1_000,
    },
  )
  ends.push(() => {
    instance.unmount()
    controller.stop()
  })
  const shows = (text: string | RegExp): Promise<void> =>
    until(() => isIn(lastFrame(screen), text), `it shows ${text}`).catch((thrown) => {
      throw new Error(`${thrown.message}\n${lastFrame(screen)}`)
    })
  return {
    screen,
    keyboard,
    asked,
    copied,
    instance,
    shows,
    lines: () => lastFrame(screen).split('\n'),
    frame: (snapshot = SNAPSHOT) => feed?.onFrame(snapshot),
    link: (link: Parameters<FeedOptions['onLink']>[0]) => feed?.onLink(link),
  }
}

const isIn = (frame: string, text: string | RegExp): boolean =>
  typeof text === 'string' ? frame.includes(text) : text.test(frame)

/** What was drawn last, without what steers the terminal. */
function lastFrame({ written }: FakeScreen): string {
  const from = Math.max(
    ...['●', '○', '◐'].map((mark) => written.lastIndexOf(` gatewayctl ${mark}`)),
  )
  const small = written.lastIndexOf('is too small')
  const text = from > small ? written.slice(from) : written.slice(Math.max(0, small - 8))
  return Bun.stripANSI(text)
}

test('draws on the other screen and gives it back, the cursor too', async () => {
  const { screen, keyboard, shows, instance } = open()
  await shows('batch-summary')
  expect(screen.written).toContain('\u001b[?1049h')
  expect(screen.written).toContain('\u001b[?25l')
  expect(keyboard.isRaw).toBe(true)
  keyboard.type('q')
  await instance.waitUntilExit()
  expect(screen.written.lastIndexOf('\u001b[?1049l')).toBeGreaterThan(0)
  expect(screen.written.lastIndexOf('\u001b[?25h')).toBeGreaterThan(
    screen.written.lastIndexOf('\u001b[?25l'),
  )
  expect(keyboard.isRaw).toBe(false)
})

describe('keys', () => {
  test('in one chunk are handled one by one', async () => {
    const { keyboard, shows } = open()
    keyboard.type('jjj')
    await shows(/▸ prod-web +google\/gemini-flash/)
    keyboard.type('/mobile\r')
    await shows('1 of 7 · elapsed ↓ · /mobile')
    keyboard.type('\u001b')
    await shows('7 of 7 · elapsed ↓')
  })

  test('with a name arrive as such', async () => {
    const { keyboard, shows } = open()
    keyboard.type('\u001b[B')
    await shows(/▸ prod-web +openai\/gpt-mini/)
    keyboard.type('\u001b[A')
    await shows(/▸ batch-summary/)
    keyboard.type('\t')
    await shows('[2 Keys]')
    keyboard.type('\u001b[Z')
    await shows('[1 Live]')
    keyboard.type('\r')
    await shows('cost so far')
  })

  test('ctrl-c quits, whatever is being typed', async () => {
    const { keyboard, instance, shows } = open()
    keyboard.type('/abc')
    await shows('/ abc')
    keyboard.type('\u0003')
    await instance.waitUntilExit()
  })

  test('copy by OSC 52, change the rate, reconnect', async () => {
    const { keyboard, copied, asked, shows } = open()
    keyboard.type('c')
    const id = SNAPSHOT.in_flight.requests[0]?.id ?? ''
    await shows(`copied ${id}`)
    expect(copied.slice(1)).toEqual([`\u001b]52;c;${Buffer.from(id).toString('base64')}\u0007`])
    keyboard.type('++-r')
    await until(() => asked.length === 4, 'all were heard')
    expect(asked).toEqual(['rate 5', 'rate 6', 'rate 5', 'reconnect'])
  })
})

test('the accounts are switched in turn, then all of them; ending a request and the chart follow', async () => {
  const of: (string | undefined)[] = []
  const { keyboard, asked, shows } = open({
    async chart(_, account) {
      of.push(account)
      return CHART
    },
  })
  await shows('batch-summary')
  for (const [n, name] of ['account default', 'account acme', 'all accounts'].entries()) {
    keyboard.type('a')
    await until(() => asked.length === n + 1, 'the feed was switched')
    await shows(name)
    keyboard.type('4')
    await until(() => of.length === n + 1, 'the chart is of that account')
    keyboard.type('1')
  }
  expect(asked).toEqual(['account default', 'account acme', 'account all'])
  expect(of).toEqual(['default', 'acme', undefined])
})

test('a request is ended after confirmation, and the result is shown', async () => {
  const killed: string[] = []
  const { keyboard, shows } = open({
    async kill(id) {
      killed.push(id)
      if (killed.length > 1) throw new Error('no request in progress is called so\nmore')
      return `ended ${id}`
    },
  })
  keyboard.type('jx')
  await shows('end prod-web · openai/gpt-mini?')
  keyboard.type('n')
  await shows('cancelled')
  expect(killed).toEqual([])
  keyboard.type('xy')
  await shows(`ended ${SNAPSHOT.in_flight.requests[1]?.id}`)
  keyboard.type('xy')
  await shows('no request in progress is called so')
})

test('pasted text triggers no keys: a filter takes its first line', async () => {
  const killed: string[] = []
  const { keyboard, shows } = open({
    async kill(id) {
      killed.push(id)
      return `ended ${id}`
    },
  })
  await shows('[1 Live]')
  keyboard.type('\u001b[200~xyq\u001b[201~')
  await shows('pasting works only in a filter: press / first')
  keyboard.type('/')
  await shows(' / ')
  keyboard.type('\u001b[200~ mobile\nxy\u001b[201~')
  await shows(/ \/ mobile█/)
  keyboard.type('\r')
  await shows('1 of 7 · elapsed ↓ · /mobile')
  expect(killed).toEqual([])
})

test('a failed chart request is retried', async () => {
  let asked = 0
  const { keyboard, frame, shows } = open({
    async chart() {
      if (++asked === 1) throw new Error('no gateway is running')
      return CHART
    },
  })
  keyboard.type('4')
  await shows('loading…')
  await until(() => {
    frame()
    return asked === 2
  }, 'it is asked for again')
  await shows('by key')
})

test('frames are drawn as they arrive, but not while frozen', async () => {
  const { keyboard, frame, shows } = open()
  const with_ = (name: string) => ({
    ...SNAPSHOT,
    in_flight: { count: 1, peak: 9, requests: [running(1, { key_name: name })] },
  })
  frame(with_('first'))
  await shows('▸ first')
  keyboard.type(' ')
  await shows('FROZEN')
  frame(with_('second'))
  keyboard.type('2')
  await shows('[2 Keys]')
  keyboard.type('1')
  await shows('▸ first')
  keyboard.type(' ')
  await shows('▸ second')
})

test('it waits for a gateway that stopped, and keeps the last frame', async () => {
  const { link, shows } = open()
  link({ kind: 'away', sinceMs: performance.now(), why: 'gone' })
  await shows(/reconnecting \ds/)
  await shows('batch-summary')
  await shows(/reconnecting [1-9]s/)
  link({ kind: 'live' })
  await shows('● serving')
})

test('the chart is requested when its screen opens, and again for another query', async () => {
  const wishes: string[] = []
  const { keyboard, shows } = open({
    async chart({ by, metric, bucket }) {
      wishes.push(`${metric} ${by} ${bucket}`)
      return { ...CHART, by }
    },
  })
  await shows('[1 Live]')
  expect(wishes).toEqual([])
  keyboard.type('4')
  await shows('by key')
  keyboard.type('b')
  await shows('by user')
  expect(wishes).toEqual(['spend key day', 'spend user day'])
})

test('every size is filled, from one to the next', async () => {
  const { screen, shows, lines } = open()
  await shows('batch-summary')
  for (const [columns, rows] of [
    [120, 40],
    [60, 15],
    [200, 60],
    [80, 24],
  ] as const) {
    screen.resize(columns, rows)
    await until(() => {
      const tabs = lines().find((line) => line.includes('[1 Live]')) ?? ''
      return (
        Bun.stringWidth(tabs) === columns && lines()[rows - 1]?.trim().endsWith('q quit') === true
      )
    }, `it is ${columns}×${rows}`)
  }
  screen.resize(50, 10)
  await shows('50×10 is too small: 60×15 at least')
  screen.resize(80, 24)
  await shows('batch-summary')
})
