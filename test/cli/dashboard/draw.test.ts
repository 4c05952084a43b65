/** The screens as text, from fixed data: what they look like is kept beside, and a change of it is looked at before it is taken. */
import { describe, expect, test } from 'vitest'
import { draw, hiddenLines } from '#cli/dashboard/draw.ts'
import { ASCII, type Glyphs, UNICODE } from '#cli/dashboard/glyphs.ts'
import { inColor, plain, toText } from '#cli/dashboard/line.ts'
import { LEAST, type Scene, type Size } from '#cli/dashboard/scene.ts'
import { SCREENS, startView, type View } from '#cli/dashboard/view.ts'
import { ERROR_CODES } from '#domain/errors.ts'
import { DIALECTS } from '#domain/work.ts'
import { CHART, ended, NOTICES, running, SNAPSHOT } from './fixed-snapshot.ts'

const NARROW: Size = { columns: 80, rows: 24 }
const WIDE: Size = { columns: 120, rows: 40 }

const sceneOf = (view: Partial<View>, more: Partial<Scene> = {}): Scene => ({
  view: { ...startView('live', 4), ...view },
  snapshot: SNAPSHOT,
  link: { kind: 'live' },
  awayMs: 0,
  typed: [],
  chart: CHART,
  size: NARROW,
  glyphs: UNICODE,
  ...more,
})

const linesOf = (scene: Scene): readonly string[] => draw(scene).map((line) => toText(line, plain))

const shown = (scene: Scene): string => `${linesOf(scene).join('\n')}\n`

const capture = (name: string): string => `./captures/${name}.txt`

test('notices that do not fit are scrolled to, to the last', () => {
  const many = Array.from({ length: 40 }, (_, n) => ({ ...NOTICES.latest[0], message: `m${n}.` }))
  const snapshot = { ...SNAPSHOT, notices: { unseen: 40, latest: many } }
  const at = (top: number) => shown(sceneOf({ mode: { kind: 'notices', top } }, { snapshot }))
  const { view, glyphs, size } = sceneOf({ mode: { kind: 'notices', top: 0 } })
  const last = hiddenLines({ view, glyphs, size, snapshot })
  expect([at(0).includes('m0.'), at(0).includes('m39.')]).toEqual([true, false])
  expect([at(last).includes('m0.'), at(last).includes('m39.')]).toEqual([false, true])
  expect(at(99)).toBe(at(last))
})

describe.each([
  ['60x20', { columns: 60, rows: 20 }],
  ['80x24', NARROW],
  ['100x30', { columns: 100, rows: 30 }],
  ['120x40', WIDE],
  ['160x45', { columns: 160, rows: 45 }],
  ['200x50', { columns: 200, rows: 50 }],
])('%s', (name, size) => {
  test.each(SCREENS)('%s', async (screen) => {
    const text = shown(sceneOf({ screen }, { size }))
    await expect(text).toMatchFileSnapshot(capture(`${screen}-${name}`))
  })

  test('the notices', async () => {
    const snapshot = { ...SNAPSHOT, notices: NOTICES }
    const text = shown(sceneOf({ mode: { kind: 'notices', top: 0 } }, { size, snapshot }))
    await expect(text).toMatchFileSnapshot(capture(`notices-${name}`))
  })

  test.each([
    ['key', { screen: 'keys', mode: { kind: 'key', id: SNAPSHOT.keys.rows[0]?.id ?? '' } }],
    ['provider', { screen: 'models', mode: { kind: 'provider', id: 'openai' } }],
  ] as const)('the page of a %s', async (subject, view) => {
    const text = shown(sceneOf(view, { size }))
    await expect(text).toMatchFileSnapshot(capture(`page-${subject}-${name}`))
  })

  test('the help', async () => {
    const text = shown(sceneOf({ mode: { kind: 'help', top: 0 } }, { size }))
    await expect(text).toMatchFileSnapshot(capture(`help-${name}`))
  })
})

test('the help is complete on the smallest terminal, from its first line to its last', async () => {
  const size = LEAST
  const at = (top: number): string => shown(sceneOf({ mode: { kind: 'help', top } }, { size }))
  await expect(at(0)).toMatchFileSnapshot(capture('help-60x15'))
  for (const screen of SCREENS) {
    const wide = linesOf(sceneOf({ screen, mode: { kind: 'help', top: 0 } }, { size: WIDE }))
    const last = hiddenLines({ view: startView(screen, 4), glyphs: UNICODE, size, snapshot: null })
    const narrow = Array.from({ length: last + 1 }, (_, top) =>
      linesOf(sceneOf({ screen, mode: { kind: 'help', top } }, { size })).slice(2, -1),
    ).flat()
    const words = new Set(narrow.join(' ').split(' '))
    expect(
      wide
        .slice(2, -1)
        .join(' ')
        .split(' ')
        .filter((word) => !words.has(word) && !/^─+$/.test(word)),
    ).toEqual([])
    // Further down there is nothing.
    const further = linesOf(sceneOf({ screen, mode: { kind: 'help', top: 99 } }, { size }))
    expect(further).toEqual(
      linesOf(sceneOf({ screen, mode: { kind: 'help', top: last } }, { size })),
    )
  }
})

const detailOf = (id: string | undefined) => ({ kind: 'detail', id: id ?? '' }) as const
const FIRST = {
  live: detailOf(SNAPSHOT.in_flight.requests[0]?.id),
  log: detailOf(SNAPSHOT.log[0]?.id),
} as const
const ASKED = {
  kind: 'confirm',
  id: 'gen-1',
  title: 'prod-web · openai/gpt-mini',
  behind: { kind: 'list' },
} as const

test.each(['live', 'log'] as const)('all about one request of %s', async (screen) => {
  const text = shown(sceneOf({ screen, mode: FIRST[screen] }))
  await expect(text).toMatchFileSnapshot(capture(`detail-${screen}-80x24`))
})

test.each([
  ['live', ' x ends it: output so far is charged'],
  ['log', ' gatewayctl activity show gen-'],
] as const)(
  'on the smallest terminal the last line about a request of %s stays',
  (screen, words) => {
    const lines = linesOf(sceneOf({ screen, mode: FIRST[screen] }, { size: LEAST }))
    expect(lines.at(-2)).toContain(words)
    expect(lines.slice(3, 6).map((line) => line.slice(1, 14).trim())).toEqual([
      'request id',
      'key',
      'user',
    ])
  },
)

test('a wide log says to which surface each request came', () => {
  const log = DIALECTS.map((surface, place) => ended(place, { surface, model: 'acme/m' }))
  const snapshot = { ...SNAPSHOT, log }
  const at = (columns: number): string =>
    shown(sceneOf({ screen: 'log' }, { snapshot, size: { columns, rows: 24 } }))
  expect(at(139)).not.toContain('SURFACE')
  for (const surface of DIALECTS) expect(at(140)).toMatch(new RegExp(`acme/m +${surface} `))
})

test('in rubles, and in ASCII', async () => {
  await expect(shown(sceneOf({ currency: 'rub' }))).toMatchFileSnapshot(
    capture('live-rubles-80x24'),
  )
  const text = shown(sceneOf({}, { glyphs: ASCII }))
  await expect(text).toMatchFileSnapshot(capture('live-ascii-80x24'))
  expect(text).toMatch(/^[ -~\n]*$/)
})

describe('whatever the size', () => {
  const sizes = [60, 61, 79, 80, 81, 99, 109, 110, 111, 120, 137, 200].flatMap((columns) =>
    [15, 16, 23, 24, 25, 33, 34, 40, 61].map((rows): Size => ({ columns, rows })),
  )
  const modes: readonly Partial<View>[] = [
    ...SCREENS.map((screen) => ({ screen })),
    { mode: { kind: 'help', top: 0 } },
    { mode: FIRST.live },
    { screen: 'log', mode: FIRST.log },
    { mode: detailOf('gen-gone') },
    { screen: 'keys', mode: { kind: 'key', id: SNAPSHOT.keys.rows[0]?.id ?? '' } },
    { screen: 'keys', mode: { kind: 'key', id: 'key_gone' } },
    { screen: 'models', mode: { kind: 'provider', id: 'openai' } },
    { screen: 'models', mode: { kind: 'provider', id: 'gone' } },
    { mode: ASKED },
  ]

  test.each(modes)('%o fills the terminal exactly', (mode) => {
    for (const size of sizes) {
      for (const glyphs of [UNICODE, ASCII] as readonly Glyphs[]) {
        const lines = linesOf(sceneOf(mode, { size, glyphs }))
        const widths = new Set(lines.map((line) => Bun.stringWidth(line)))
        expect([size, lines.length, [...widths]]).toEqual([size, size.rows, [size.columns]])
      }
    }
  })

  test('who is at a limit is named on Live, the account first and by its name; who only comes near one is not', () => {
    const [first, ...others] = SNAPSHOT.keys.warnings
    if (first === undefined) throw new TypeError('there is no warning')
    const keys = (warnings: typeof SNAPSHOT.keys.warnings) => ({
      snapshot: { ...SNAPSHOT, keys: { ...SNAPSHOT.keys, warnings } },
    })
    const acme = { ...first, key_id: null, key_name: null, account: 'acme' }
    for (const size of [NARROW, WIDE]) {
      const text = linesOf(sceneOf({}, { size, ...keys([acme, ...others]) })).join('\n')
      expect(text).toMatch(
        / . account acme reached its daily ceiling of \$5\.00 {3}. ci-evals is at/,
      )
      const foreign = { ...first, key_name: 'prod', account: 'acme' }
      expect(linesOf(sceneOf({}, { size, ...keys([foreign]) })).join('\n')).toMatch(
        / . acme: prod reached its daily ceiling/,
      )
      const near = linesOf(sceneOf({}, { size, ...keys([{ ...acme, level: 80 }]) })).join('\n')
      expect(near).not.toContain('its daily ceiling')
    }
  })

  test('limits of tokens and of the account are drawn where there are some', () => {
    const [gauged] = SNAPSHOT.keys.rows
    if (gauged === undefined) throw new TypeError('there is no key')
    const tokens = {
      ...gauged.minute,
      used: 8_200,
      limit: 10_000,
      percent: 82,
      level: 'ok',
    } as const
    const rows = [{ ...gauged, tokens }]
    const snapshot = {
      ...SNAPSHOT,
      keys: { ...SNAPSHOT.keys, rows },
      money: { ...SNAPSHOT.money, account: 'research', gauges: { ...gauged, tokens } },
    }
    const text = (view: Partial<View>, size: Size = NARROW): string =>
      linesOf(sceneOf(view, { size, snapshot })).join('\n')
    const page = { kind: 'key', id: gauged.id } as const
    for (const one of [text({ screen: 'keys' }), text({ screen: 'keys', mode: page })]) {
      expect(one).toContain('tokens     8 200 of 10 000 used')
      expect(one).toContain('each       6 req/min per user')
    }
    const wide = { columns: 160, rows: 45 }
    expect(text({ screen: 'keys' }, wide)).toMatch(/ TPM .*\n.* 8200\/10k /)
    expect(text({ screen: 'spend' })).toContain(
      ' account research  60/60 rpm · 901/1000 rpd · 8200/10k tpm · 1/2 at once ',
    )
    expect(text({ screen: 'trend' }, wide)).toMatch(/ account research +day .* \$1\.88 of \$5\.00 /)
    for (const columns of [60, 80, 110, 150, 200]) {
      for (const screen of SCREENS) {
        const lines = linesOf(sceneOf({ screen }, { size: { columns, rows: 24 }, snapshot }))
        expect(new Set(lines.map((line) => Bun.stringWidth(line)))).toEqual(new Set([columns]))
      }
    }
  })

  describe.each([
    ['all accounts', null],
    ['account acme', 'acme'],
  ] as const)('with several accounts, %s', (whose, account) => {
    const gateway = { ...SNAPSHOT.gateway, accounts: 2 }
    const money = { ...SNAPSHOT.money, account: 'acme' }
    const snapshot = { ...SNAPSHOT, gateway, money, account, notices: NOTICES }
    const isOfSomebody = ({ mode }: Partial<View>): boolean =>
      mode?.kind !== 'help' && mode?.kind !== 'confirm'
    const said = ({ screen, mode }: Partial<View>): string => {
      if (screen === 'models' || mode?.kind === 'notices') return 'all accounts'
      return screen === 'keys' || screen === 'spend' ? 'account acme' : whose
    }
    const everyPage = [...modes, { mode: { kind: 'notices', top: 0 } } as const].filter(
      isOfSomebody,
    )

    test.each(everyPage)('%o says whose it is', (mode) => {
      for (const size of sizes) {
        const text = linesOf(sceneOf(mode, { size, snapshot })).join('\n')
        expect([size, text]).toEqual([size, expect.stringContaining(said(mode))])
      }
    })

    test('a part that is of another, or of all, says so itself', () => {
      const titles = sizes.flatMap((size) =>
        SCREENS.flatMap((screen) => linesOf(sceneOf({ screen }, { size, snapshot }))),
      )
      const of = (title: string) => titles.filter((line) => line.includes(`─ ${title} `))
      for (const title of ['money', 'keys nearest a limit', 'ceilings']) {
        expect(of(title).length).toBeGreaterThan(0)
        for (const line of of(title)) expect(line).toContain(`─ ${title} · acme `)
      }
      for (const line of of('throughput')) expect(line).toContain(' · rates of all accounts ')
      for (const line of of('minutes')) expect(line).toContain(' · all accounts ')
      for (const line of titles.filter((one) => one.startsWith(' balance'))) {
        expect(line).toBe('the name of its account')
      }
    })
  })

  test('of several credentials it says which one rests, and by which a request was served', () => {
    const [first, ...others] = SNAPSHOT.providers
    const [line] = SNAPSHOT.log
    if (first === undefined || line === undefined) throw new TypeError('the snapshot is empty')
    const credentials = [
      {
        credential: 'eu',
        reason: 'unauthorized',
        status: 401,
        state: 'resting',
        failures_in_a_row: 1,
        rests_until: '2026-11-21T12:41:47Z',
      },
    ] as const
    const snapshot = {
      ...SNAPSHOT,
      providers: [{ ...first, credentials }, ...others],
      log: [{ ...line, provider: first.name, credential: 'us' }],
    }
    const text = (view: Partial<View>): string => linesOf(sceneOf(view, { snapshot })).join('\n')
    expect(text({ screen: 'models', mode: { kind: 'provider', id: first.name } })).toContain(
      ' credential  eu refused (401), resting 40s ',
    )
    expect(text({ screen: 'log', mode: { kind: 'detail', id: line.id } })).toContain(
      `${first.name}, credential us `,
    )
  })

  test('a question shows its answers, and a filter its cursor', () => {
    const title = `${'k'.repeat(40)} · ${'模型'.repeat(30)}`
    for (const mode of [ASKED, { ...ASKED, title }]) {
      for (let columns = 60; columns <= 200; columns++) {
        const last = linesOf(sceneOf({ mode }, { size: { columns, rows: 24 } })).at(-1)
        expect(last).toMatch(/^ end (prod-web|kkkk).*\S {2}\[y\/N\] *$/)
      }
    }
    expect(
      linesOf(sceneOf({ mode: ASKED }))
        .at(-1)
        ?.trim(),
    ).toBe('end prod-web · openai/gpt-mini? charged so far; its client gets an error  [y/N]')
    const filter = `key:${'f'.repeat(55)}!`
    const { lists } = startView('live', 4)
    const view = {
      mode: { kind: 'typing', before: '' },
      lists: { ...lists, live: { ...lists.live, filter } },
    } as const
    expect(linesOf(sceneOf(view, { size: LEAST })).at(-1)).toMatch(/^ \/ …f+!█$/)
    expect(linesOf(sceneOf(view)).at(-1)).toContain(` / ${filter}█ `)
  })

  test('at 60×15 each screen shows its name and its rows', () => {
    const size = { columns: 60, rows: 15 }
    const rows = { live: 3, keys: 4, models: 3, spend: 0, log: 10, trend: 0 }
    for (const screen of SCREENS) {
      const lines = linesOf(sceneOf({ screen }, { size }))
      expect(lines.join('\n').toLowerCase()).toMatch(new RegExp(`\\[\\d ${screen}\\]`))
      const title = lines.findIndex((line) => /^ {3}(KEY|MODEL|TIME) /.test(line))
      const list = title < 0 ? [] : lines.slice(title + 1, title + 1 + rows[screen])
      expect([screen, list.filter((line) => line.trim() !== '').length]).toEqual([
        screen,
        Math.min(rows[screen], screen === 'models' ? SNAPSHOT.models.length : rows[screen]),
      ])
    }
    const models = linesOf(sceneOf({ screen: 'models' }, { size })).join('\n')
    for (const { model } of SNAPSHOT.models.slice(0, 3)) expect(models).toContain(model)
    const filtered = {
      ...startView('log', 4).lists,
      log: { ...startView('log', 4).lists.log, filter: 'key:ci' },
    }
    expect(linesOf(sceneOf({ screen: 'log', lists: filtered }, { size }))[1]).toMatch(
      /\[5 Log\].*\/key:ci/,
    )
  })

  test('below 60×15 it prints the minimum size', () => {
    for (const size of [
      { columns: 59, rows: 40 },
      { columns: 120, rows: 14 },
    ]) {
      const [first, ...rest] = linesOf(sceneOf({}, { size }))
      expect(first?.trim()).toBe(`${size.columns}×${size.rows} is too small: 60×15 at least`)
      expect(rest.join('').trim()).toBe('')
    }
  })
})

describe('what strangers wrote', () => {
  const FIRST_RUNNING = detailOf(running(1).id)
  const evil = 'ev\u001b]0;pwn\u0007\u001b[31mil\u0000\u202e\n\r\t'
  const snapshot = {
    ...SNAPSHOT,
    in_flight: {
      count: 1,
      peak: 1,
      requests: [running(1, { key_name: evil, model: evil, user: evil, request_id: evil })],
    },
    log: [ended(1, { key_name: evil, user: evil, message: evil, code: evil, model: evil })],
    errors: [ended(1, { key_name: evil, message: evil, status: 500, code: evil })],
    keys: {
      ...SNAPSHOT.keys,
      rows: SNAPSHOT.keys.rows.map((row) => ({ ...row, name: evil, allowed_models: [evil] })),
      warnings: SNAPSHOT.keys.warnings.map((warning) => ({ ...warning, key_name: evil })),
    },
    models: SNAPSHOT.models.map((model) => ({ ...model, model: evil, providers: [evil] })),
    providers: SNAPSHOT.providers.map((provider) => ({ ...provider, name: evil })),
  }

  test.each([...SCREENS.map((screen) => ({ screen })), { mode: FIRST_RUNNING }])(
    'steers nothing on %o',
    (view) => {
      for (const size of [NARROW, WIDE]) {
        const chart = { ...CHART, groups: [{ ...CHART.total, name: evil }] }
        const text = linesOf(sceneOf(view, { snapshot, size, chart })).join('')
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
        expect(text).toContain('ev�')
      }
    },
  )

  test('wide characters keep columns aligned', () => {
    const wide = {
      ...snapshot,
      in_flight: {
        ...snapshot.in_flight,
        requests: [
          running(1, {
            key_name: '鍵鍵鍵鍵鍵鍵鍵鍵鍵',
            model: '🙂🙂/模型模型模型模型模型模型模型模型模型模型',
          }),
        ],
      },
    }
    for (const line of linesOf(sceneOf({}, { snapshot: wide }))) {
      expect([line, Bun.stringWidth(line)]).toEqual([line, 80])
    }
  })
})

test.each([60, 80, 110])(
  'at %i columns the trend says when a ceiling is used up, however long its figures',
  (columns) => {
    const [first] = SNAPSHOT.keys.rows
    if (!first) throw new Error('there are keys')
    const spend_day = { ...first.spend_day, spent_usd: '1234.5', limit_usd: '1800', percent: 68.6 }
    const keys = { ...SNAPSHOT.keys, rows: [{ ...first, spend_day }] }
    const scene = { snapshot: { ...SNAPSHOT, keys }, size: { columns, rows: 24 } }
    const [line] = linesOf(sceneOf({ screen: 'trend' }, scene)).filter((one) =>
      / day +.* of \$1/.test(one),
    )
    expect(line).toMatch(/ \$1.?234\.50 of \$1.?800\.00 {2}(used up in ~\d+h\d\dm|~\d+h\d\dm)/)
  },
)

test('a page about a request stays with it when it ends, and shows how', () => {
  const [first, ...others] = SNAPSHOT.in_flight.requests
  const id = first?.id ?? ''
  const mode = detailOf(id)
  const without = { ...SNAPSHOT, in_flight: { count: 6, peak: 31, requests: others } }
  const on = (snapshot: typeof SNAPSHOT, columns = 80) =>
    linesOf(sceneOf({ mode }, { snapshot, size: { columns, rows: 24 } }))
  // Before its line of the log has come.
  expect(on(without)[2]).toMatch(new RegExp(`^─ ${id} ─+ ended ─$`))
  expect(on(without)[3]).toContain(`gatewayctl activity show ${id}`)
  const record = ended(1, { id, status: 503, code: 'ended_by_operator', ended_by: 'gateway' })
  for (const after of [
    { ...without, log: [record, ...SNAPSHOT.log] },
    { ...without, errors: [record] },
  ]) {
    const lines = on(after)
    expect(lines[2]).toMatch(new RegExp(`^─ ${id} ─+ 503 ended_by_operator ─$`))
    expect(lines.join('\n')).toContain(`gatewayctl activity show ${id}`)
    expect(lines.at(-1)).not.toContain('x end')
  }
  // A filter that it no longer passes does not take it away either.
  const { lists } = startView('live', 4)
  const filtered = { mode, lists: { ...lists, live: { ...lists.live, filter: 'nobody' } } }
  expect(linesOf(sceneOf(filtered))[2]).toMatch(new RegExp(`^─ ${id} ─+ streaming ─$`))
})

test('in the log, no two codes look alike', () => {
  const codes = [...Object.keys(ERROR_CODES), 'completed', 'client', 'upstream', 'gateway']
  for (const columns of [80, 109, 110, 200]) {
    const log = codes.map((code, place) => ended(place, { code, key_name: 'k', model: 'm' }))
    const snapshot = { ...SNAPSHOT, log, traffic: { ...SNAPSHOT.traffic, failed: [] } }
    const size = { columns, rows: log.length + 6 }
    const lines = linesOf(sceneOf({ screen: 'log' }, { snapshot, size })).slice(3, 3 + log.length)
    const seen = lines.map((line) => line.trimEnd().split(' ').at(-1))
    expect([columns, new Set(seen).size]).toEqual([columns, codes.length])
    expect(seen).toContain('client')
  }
})

test('colour is never the only sign, and there is none without it', () => {
  const scene = sceneOf({ screen: 'keys' })
  const coloured = draw(scene).map((line) => toText(line, inColor))
  expect(Bun.stripANSI(coloured.join('\n'))).toBe(linesOf(scene).join('\n'))
  expect(coloured.join('')).toContain('\u001b[31m')
  expect(linesOf(scene).join('')).not.toContain('\u001b')
  expect(linesOf(scene).find((line) => line.includes('alice-notebook'))).toMatch(/^ ✖ alice/)
})

test('the last frame stays, dimmed, while the gateway is away', () => {
  const scene = sceneOf({}, { link: { kind: 'away', sinceMs: 0, why: 'gone' }, awayMs: 3_400 })
  expect(linesOf(scene)[0]).toContain('○ reconnecting 3s')
  expect(linesOf(scene)[7]).toBe(linesOf(sceneOf({}))[7])
  const body = draw(scene).slice(1, -1).flat()
  expect(body.every(({ tone, text }) => tone === 'dim' || text.trim() === '')).toBe(true)
})

test('a gateway that sends no frames is not shown as serving', () => {
  const scene = sceneOf({}, { link: { kind: 'silent', sinceMs: 0 }, awayMs: 7_900 })
  expect(linesOf(scene)[0]).toContain('○ not answering 7s')
  const body = draw(scene).slice(1, -1).flat()
  expect(body.every(({ tone, text }) => tone === 'dim' || text.trim() === '')).toBe(true)
})

describe('where several nodes share the store', () => {
  const aNode = {
    in_flight: 1,
    epoch: 'e',
    version: '0',
    schema: 1,
    beat_at: SNAPSHOT.at,
    ahead_ms: 0,
  }
  const nodes = [
    { ...aNode, name: 'eu-1', state: 'alive' as const },
    { ...aNode, name: 'eu-2', state: 'silent' as const },
    { ...aNode, name: 'eu-3', state: 'ended' as const },
  ]
  const elsewhere = {
    ...running(2, { node: 'eu-2', state: 'elsewhere', elapsed_ms: 900 }),
    ...{ provider: null, stream: null, first_byte_ms: null, prompt_tokens: null },
    ...{ completion_tokens: null, tokens_per_second: null, cost_usd: null, failed_attempts: null },
  }
  const snapshot = {
    ...SNAPSHOT,
    gateway: { ...SNAPSHOT.gateway, nodes },
    in_flight: { count: 2, peak: 2, requests: [running(1, { node: 'eu-1' }), elsewhere] },
  }

  test.each([[{ columns: 60, rows: 20 }], [NARROW], [WIDE], [{ columns: 200, rows: 50 }]])(
    'each request says where it is, and what only its node knows is left out: %o',
    (size) => {
      const lines = linesOf(sceneOf({}, { snapshot, size }))
      expect(lines.every((line) => Bun.stringWidth(line) <= size.columns)).toBe(true)
      const [title = ''] = lines.filter((line) => /MODEL .*NODE .*ELAPSED/.test(line))
      const at = (line: string | undefined) => line?.slice(title.indexOf('NODE')).split(' ')[0]
      const row = (id: string) => lines.find((line) => new RegExp(` ${id} `).test(line))
      expect([at(row('eu-1')), at(row('eu-2'))]).toEqual(['eu-1', 'eu-2'])
      expect(row('eu-2')).toMatch(/0\.9s.* – .*→/)
    },
  )

  test('a wide head counts them, and a page about a request elsewhere says where', () => {
    expect(linesOf(sceneOf({}, { snapshot, size: WIDE }))[0]).toContain('2 nodes, 1 silent')
    const mode = { ...detailOf(elsewhere.id), behind: { kind: 'list' } } as const
    const page = shown(sceneOf({ mode }, { snapshot }))
    expect(page).toMatch(/^ node +eu-2 *$/m)
    expect(page).toMatch(/^ tokens out +– *$/m)
    expect(page).toMatch(/^ cost so far +– *$/m)
  })
})

test('draining and an unhealthy store are shown', () => {
  const with_ = (gateway: object) =>
    linesOf(
      sceneOf({}, { snapshot: { ...SNAPSHOT, gateway: { ...SNAPSHOT.gateway, ...gateway } } }),
    )
  expect(with_({ draining: true })[0]).toContain('◐ draining')
  expect(with_({ healthy: false })[0]).toContain('● unhealthy')
})

test('a filter that finds none of the keys shown says that there are more', () => {
  const lists = startView('keys', 4).lists
  const view = {
    screen: 'keys' as const,
    lists: { ...lists, keys: { ...lists.keys, filter: 'nobody' } },
  }
  const keys = { ...SNAPSHOT.keys, total: 5_007 }
  const rows = SNAPSHOT.keys.rows.length
  const text = linesOf(sceneOf(view, { snapshot: { ...SNAPSHOT, keys } })).join('\n')
  expect(text).toContain(`no match among the ${rows} keys shown here; all 5007: gatewayctl keys `)
})

test('a command uses the id where two keys have the same name', () => {
  const [first, second, ...rest] = SNAPSHOT.keys.rows
  if (!first || !second) throw new Error('there are keys')
  const keys = { ...SNAPSHOT.keys, rows: [first, { ...second, name: first.name }, ...rest] }
  const shown = (snapshot: typeof SNAPSHOT) =>
    linesOf(sceneOf({ screen: 'keys' }, { snapshot })).join('\n')
  expect(shown(SNAPSHOT)).toContain(`limits set ${first.name} `)
  expect(shown({ ...SNAPSHOT, keys })).toContain(`limits set ${first.id} `)
})

test("suggested commands repeat the dashboard's global options", () => {
  const typed = ['dashboard', '--data-dir', '/srv/two', '--account', 'team']
  const shown = linesOf(sceneOf({ screen: 'keys' }, { typed, size: WIDE })).join('\n')
  expect(shown).toContain(': gatewayctl --data-dir /srv/two --account team limits set ')
})
