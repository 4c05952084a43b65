/** The keys of a screen: all of them on the help page, the most needed in the footer. */
import { type Line, spread, styled } from '../line.ts'
import { exactly, rule, type Scene } from '../scene.ts'
import { type Screen, TITLES } from '../view.ts'

type Help = readonly (readonly [keys: string, what: string])[]

const EVERYWHERE: Help = [
  ['1-5, tab', 'screens: Live, Keys, Models, Spend, Log'],
  ['up down, j k', 'move; PgUp PgDn by ten rows, g G to the first and last'],
  ['/', 'filter: words, key:prod status:5xx user:u_1 slow:10s; ! negates'],
  ['esc', 'back, or clear the filter'],
  ['s, S', 'sort by the next column, reverse the order'],
  ['space', 'freeze the display; data is still collected'],
  ['u', 'dollars or rubles, at the current rate'],
  ['+, -', 'frames per second, from 1 to 10'],
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
  keys: [['enter', 'the requests of the selected key, in the log']],
  models: [['enter', 'the requests of the selected model, in the log']],
  spend: [
    ['m', 'spend, requests or tokens'],
    ['b', 'by key, user, model or provider'],
    ['d', 'days or hours'],
  ],
  log: [
    ['enter', 'the full record of the selected request'],
    ['e', 'errors only'],
  ],
}

const STATES = ['streaming', 'waiting', 'image', 'opening', 'retrying'] as const

const MEANINGS: Readonly<Record<(typeof STATES)[number], string>> = {
  streaming: 'streaming',
  waiting: 'waiting for the full answer',
  image: 'generating an image',
  opening: 'no first byte yet',
  retrying: 'trying the next provider',
}

export function helpBody(scene: Scene, height: number): readonly Line[] {
  const { view, glyphs } = scene
  const line = ([keys, what]: Help[number]): Line => [
    styled(` ${keys.padEnd(14)}`, 'bold'),
    styled(what),
  ]
  const states = STATES.map((state) => `${glyphs.states[state]} ${MEANINGS[state]}`)
  return exactly(
    [
      rule(scene, `keys of ${TITLES[view.screen]}`, 'press any key to go back'),
      ...HERE[view.screen].map(line),
      rule(scene, 'on every screen'),
      ...EVERYWHERE.map(line),
      rule(scene, 'request states'),
      [styled(` ${states.slice(0, 3).join('  ')}`)],
      [styled(` ${states.slice(3).join('  ')}`)],
    ],
    height,
  )
}

/** The keys available here, as many as fit; the help page lists all. */
export function keysLine(scene: Scene): Line {
  const { view, size } = scene
  const here = view.mode.kind === 'detail' ? inDetail(scene) : onScreen(scene)
  const keys = [
    ...here,
    'space freeze',
    `u ${view.currency === 'usd' ? scene.glyphs.ruble : '$'}`,
    'tab screens',
    'S reverse',
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
    case 'models':
      return [...list, `${glyphs.enter} its requests`, ...found, 'c copy id']
    case 'spend':
      return ['m metric', 'b group by', 'd day/hour']
    case 'log':
      return [...list, `${glyphs.enter} detail`, ...found, 'e errors', 'c copy id']
  }
}

const inDetail = ({ view, glyphs }: Scene): readonly string[] => [
  `${glyphs.arrows} next`,
  'esc back',
  'c copy id',
  ...(view.screen === 'live' ? ['x end'] : []),
]
