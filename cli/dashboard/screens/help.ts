/** The keys of a screen: all of them on the help page, the most needed in the footer. */
import { type Line, spread, styled } from '../line.ts'
import { findRunning } from '../lists.ts'
import { hiddenOf, rule, type Scene, textPage } from '../scene.ts'
import { isChart, type Screen, TITLES } from '../view.ts'

type Help = readonly (readonly [keys: string, what: string])[]

const EVERYWHERE: Help = [
  ['1-6, tab', 'screens: Live, Keys, Models, Spend, Log, Trend'],
  ['up down, j k', 'move; PgUp PgDn by ten rows, g G to the first and last'],
  ['/', 'filter: words, key:prod status:5xx user:u_1 slow:10s; ! negates'],
  ['esc', 'back, or clear the filter'],
  ['s, S', 'sort by the next column, reverse the order'],
  ['space', 'freeze the display; data is still collected'],
  ['a', 'the next account, and after the last all of them'],
  ['u', 'dollars or rubles, at the current rate'],
  ['+, -', 'frames per second, from 1 to 10'],
  ['n', 'notices: what the gateway told its operator; marks them as seen'],
  ['c', 'copy the id of the selected row (OSC 52)'],
  ['r, ctrl-l', 'reconnect, redraw the screen'],
  ['ctrl-z', 'suspend; fg resumes'],
  ['q, ctrl-c', 'quit'],
]

const HERE: Readonly<Record<Screen, Help>> = {
  live: [
    ['enter', 'details of the selected request'],
    ['x', 'end it (asks first): charges output so far, client gets an error'],
  ],
  keys: [['enter', 'all about the selected key; again: its requests, in the log']],
  models: [
    ['enter', 'the requests of the selected model, in the log'],
    ['p', 'all about the provider that serves it; again: the next one'],
  ],
  spend: [
    ['m', 'spend, requests or tokens'],
    ['b', 'by key, user, model or provider'],
    ['d', 'days or hours'],
  ],
  log: [
    ['enter', 'the full record of the selected request'],
    ['e', 'errors only'],
  ],
  trend: [],
}

const STATES = ['queued', 'streaming', 'waiting', 'image', 'opening', 'retrying'] as const

const MEANINGS: Readonly<Record<(typeof STATES)[number], string>> = {
  queued: 'waiting for money that others hold',
  streaming: 'streaming',
  waiting: 'waiting for the full answer',
  image: 'generating an image',
  opening: 'no first byte yet',
  retrying: 'trying the next provider',
}

/** The width of the keys, and the blank before them. */
const KEYS_COLUMNS = 15

/** What the page is drawn from; its height does not matter. */
type Page = Pick<Scene, 'view' | 'glyphs' | 'size'>

/** The page under its title; texts that are too long for a line go on in the next. */
function helpLines({ view, glyphs, size }: Page): readonly Line[] {
  const entry = ([keys, what]: Help[number]): readonly Line[] =>
    wrapped(what, size.columns - KEYS_COLUMNS - 1).map((text, index) => [
      styled(` ${(index === 0 ? keys : '').padEnd(KEYS_COLUMNS - 1)}`, 'bold'),
      styled(text),
    ])
  const states = STATES.map((state) => `${glyphs.states[state]} ${MEANINGS[state]}`)
  return [
    ...HERE[view.screen].flatMap(entry),
    rule({ glyphs, size }, 'on every screen'),
    ...EVERYWHERE.flatMap(entry),
    rule({ glyphs, size }, 'request states'),
    ...inRows(states, size.columns - 2).map((text) => [styled(` ${text}`)]),
  ]
}

/** Lines of at most so many columns, broken at blanks. */
const wrapped = (text: string, columns: number): readonly string[] =>
  inRows(text.split(' '), columns, ' ')

/** The pieces one after another, as many on each line as fit. */
function inRows(pieces: readonly string[], columns: number, gap = '  '): readonly string[] {
  const lines: string[] = []
  for (const piece of pieces) {
    const last = lines.at(-1)
    const longer = last === undefined ? piece : last + gap + piece
    if (last !== undefined && Bun.stringWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(piece)
  }
  return lines
}

export const hiddenHelp = (page: Page, height: number): number => hiddenOf(helpLines(page), height)

export const helpBody = (scene: Scene, height: number): readonly Line[] =>
  textPage(scene, `keys of ${TITLES[scene.view.screen]}`, '', helpLines(scene), height)

/** The keys available here, as many as fit; the help page lists all. */
export function keysLine(scene: Scene): Line {
  const { view, size } = scene
  const { mode } = view
  const here =
    mode.kind === 'detail'
      ? inDetail(scene, mode.id)
      : mode.kind === 'key'
        ? [
            `${scene.glyphs.arrows} next`,
            `${scene.glyphs.enter} its requests`,
            'esc back',
            'c copy id',
          ]
        : mode.kind === 'provider'
          ? ['p next provider', 'esc back']
          : onScreen(scene)
  const keys = [
    ...here,
    'space freeze',
    `u ${view.currency === 'usd' ? scene.glyphs.ruble : '$'}`,
    'tab screens',
    ...(isChart(view.screen) ? [] : ['S reverse']),
    '+/- rate',
    'r reconnect',
  ]
  const right = '? help  q quit '
  const room = size.columns - right.length - 1
  const fitting = keys.reduce(
    (line, one) =>
      Bun.stringWidth(line) + Bun.stringWidth(one) + 3 > room ? line : `${line}${one}  `,
    ' ',
  )
  return spread([styled(fitting, 'dim')], [styled(right, 'dim')], size.columns)
}

function onScreen({ view, glyphs }: Scene): readonly string[] {
  const list = [`${glyphs.arrows} move`]
  const found = ['/ filter', 's sort']
  switch (view.screen) {
    case 'live':
      return [...list, `${glyphs.enter} detail`, ...found, 'x end']
    case 'keys':
      return [...list, `${glyphs.enter} all about it`, ...found, 'c copy id']
    case 'models':
      return [...list, `${glyphs.enter} its requests`, 'p provider', ...found, 'c copy id']
    case 'trend':
      return []
    case 'spend':
      return ['m metric', 'b group by', 'd day/hour']
    case 'log':
      return [...list, `${glyphs.enter} detail`, ...found, 'e errors', 'c copy id']
  }
}

const inDetail = ({ view, snapshot, glyphs }: Scene, id: string): readonly string[] => [
  `${glyphs.arrows} next`,
  'esc back',
  'c copy id',
  ...(view.screen === 'live' && findRunning(snapshot, id) !== undefined ? ['x end'] : []),
]
