/** The keys of a screen, all of them on one page and the most needed on its last line. */
import { type Line, say, spread } from '../line.ts'
import { exactly, rule, type Scene } from '../scene.ts'
import { type Screen, TITLES } from '../view.ts'

type Help = readonly (readonly [keys: string, what: string])[]

const EVERYWHERE: Help = [
  ['1-5, tab', 'screens: Live, Keys, Models, Spend, Log'],
  ['up down, j k', 'move; PgUp PgDn by ten, g G to the first and the last'],
  ['/', 'filter: words, key:prod model:gpt status:5xx user:u_1 slow:10s; ! turns one round'],
  ['esc', 'back, and the filter away'],
  ['s, S', 'sort by the next column, and the other way round'],
  ['space', 'freeze what is shown; what comes is kept meanwhile'],
  ['u', 'dollars or rubles, at the rate of now'],
  ['+, -', 'frames a second, from 1 to 10'],
  ['c', 'copy the id of what is selected (OSC 52)'],
  ['r, ctrl-l', 'connect anew; draw all of it anew'],
  ['ctrl-z', 'suspend; fg comes back'],
  ['q, ctrl-c', 'quit'],
]

const HERE: Readonly<Record<Screen, Help>> = {
  live: [
    ['enter', 'all about the selected request'],
    ['x', 'end it, after a question: what came is charged, its client is told'],
  ],
  keys: [['enter', 'the requests of the selected key, in the log']],
  models: [['enter', 'the requests of the selected model, in the log']],
  spend: [
    ['m', 'spend, requests or tokens'],
    ['b', 'by key, user, model or provider'],
    ['d', 'days or hours'],
  ],
  log: [
    ['enter', 'the whole record of the selected request'],
    ['e', 'errors only'],
  ],
}

const STATES = ['streaming', 'waiting', 'image', 'opening', 'retrying'] as const

const MEANINGS: Readonly<Record<(typeof STATES)[number], string>> = {
  streaming: 'streaming',
  waiting: 'waiting for a whole answer',
  image: 'a picture',
  opening: 'no first byte yet',
  retrying: 'the next hop, after one failed',
}

export function helpBody(scene: Scene, height: number): readonly Line[] {
  const { view, glyphs } = scene
  const line = ([keys, what]: Help[number]): Line => [say(` ${keys.padEnd(14)}`, 'bold'), say(what)]
  const states = STATES.map((state) => `${glyphs.states[state]} ${MEANINGS[state]}`)
  return exactly(
    [
      rule(scene, `keys of ${TITLES[view.screen]}`, 'any key goes back'),
      ...HERE[view.screen].map(line),
      rule(scene, 'everywhere'),
      ...EVERYWHERE.map(line),
      rule(scene, 'marks'),
      [say(` ${states.slice(0, 3).join('  ')}`)],
      [say(` ${states.slice(3).join('  ')}`)],
    ],
    height,
  )
}

/** The keys that are good for something here, as many as fit; the help has them all. */
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
  return spread([say(fitting, 'dim')], [say(right, 'dim')], size.columns)
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
      return ['m what', 'b by whom', 'd days or hours']
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
