/** Keys: where they lead, what they ask for outside of the view, and that a screen keeps its filter and sort. */
import type { Key as InkKey } from 'ink'
import { describe, expect, test } from 'vitest'
import { draw } from '#cli/dashboard/draw.ts'
import { UNICODE } from '#cli/dashboard/glyphs.ts'
import { readKeys } from '#cli/dashboard/keyboard.ts'
import { plain, toText } from '#cli/dashboard/line.ts'
import { type Effect, type Key, press, withRecord } from '#cli/dashboard/press.ts'
import { type Screen, startView, type View } from '#cli/dashboard/view.ts'
import { ended, NOTICES, running, SNAPSHOT } from './fixed-snapshot.ts'

/** The view after these keys, and what they asked for. */
function type(
  keys: readonly Key[],
  from: View = startView('live', 4),
  snapshot = SNAPSHOT,
  hidden = 0,
) {
  const effects: Effect[] = []
  const view = keys.reduce((before, key) => {
    const { view: after, effect } = press(before, key, snapshot, hidden)
    if (effect) effects.push(effect)
    return after
  }, from)
  return { view, effects }
}

const selectedOf = ({ view }: { readonly view: View }) => view.lists[view.screen].selected
const ids = SNAPSHOT.in_flight.requests.map(({ id }) => id)

describe('screens', () => {
  test.each<[Key[], Screen]>([
    [['3'], 'models'],
    [['5', '1'], 'live'],
    [['tab'], 'keys'],
    [['shift-tab'], 'trend'],
    [['6'], 'trend'],
    [['tab', 'tab', 'tab', 'tab', 'tab', 'tab'], 'live'],
    [['9'], 'live'],
  ])('%o leads to %s', (keys, screen) => {
    expect(type(keys).view.screen).toBe(screen)
  })

  test('keep filter, sort and cursor while others are looked at', () => {
    const there = type(['/', 'p', 'r', 'o', 'd', 'enter', 's', 'S', 'j']).view
    const back = type(['2', 's', '5', '1'], there).view
    expect(back.lists.live).toEqual(there.lists.live)
    expect(back.lists.live).toMatchObject({ filter: 'prod', sort: 1, isReversed: true })
    expect(back.lists.keys).toMatchObject({ filter: '', sort: 1, isReversed: false })
  })
})

test('n opens the notices, which are seen then; any key goes back', () => {
  const unseen = { ...SNAPSHOT, notices: NOTICES }
  const opened = type(['n'], undefined, unseen)
  expect(opened.view.mode).toEqual({ kind: 'notices', top: 0 })
  const upTo = NOTICES.latest[0]?.event_id ?? ''
  expect(opened.effects).toEqual([{ kind: 'seen', upTo }])
  // What does not fit is scrolled to.
  expect(type(['j', 'j'], opened.view, unseen, 1).view.mode).toEqual({ kind: 'notices', top: 1 })
  // One that has come while the display is frozen is shown to nobody yet.
  const [newest] = NOTICES.latest
  if (newest === undefined) throw new Error('there is no notice')
  const later = { ...NOTICES, latest: [{ ...newest, event_id: 'evt_later' }, ...NOTICES.latest] }
  const frozen = type([' '], undefined, unseen).view
  const looked = type(['n'], frozen, { ...SNAPSHOT, notices: later })
  expect(looked.effects).toEqual([{ kind: 'seen', upTo }])
  expect(type(['x'], opened.view, unseen)).toMatchObject({
    view: { mode: { kind: 'list' } },
    effects: [],
  })
  expect(type(['n']).effects).toEqual([])
})

describe('the cursor', () => {
  test.each<[Key[], number]>([
    [['j'], 1],
    [['down', 'down', 'k'], 1],
    [['k'], 0],
    [['G'], 6],
    [['G', 'j', 'j'], 6],
    [['pagedown'], 6],
    [['end', 'home'], 0],
    [['G', 'g'], 0],
  ])('%o is on row %i', (keys, place) => {
    expect(selectedOf(type(keys))).toBe(ids[place])
  })

  test('stays on its row when others come and go, and near it when it has gone', () => {
    const { view } = type(['j', 'j'])
    const rows = [running(90, { elapsed_ms: 99_000 }), ...SNAPSHOT.in_flight.requests]
    const more = { ...SNAPSHOT, in_flight: { count: 8, peak: 8, requests: rows } }
    expect(selectedOf(type(['j'], view, more))).toBe(ids[3])
    const without = rows.filter(({ id }) => id !== ids[2])
    const fewer = { ...SNAPSHOT, in_flight: { count: 7, peak: 8, requests: without } }
    expect(type(['c'], view, fewer).effects).toEqual([{ kind: 'copy', text: ids[1] }])
  })
})

describe('a filter', () => {
  test('is cleared by ctrl-u while it is typed', () => {
    const { view } = type(['/', 'a', 'b', 'ctrl-u', 'c'])
    expect(view.lists.live.filter).toBe('c')
    expect(view.mode.kind).toBe('typing')
    expect(readKeys('/ab\u0015', { ctrl: false } as InkKey)).toContain('ctrl-u')
  })

  test('takes what is typed, keys that mean something elsewhere too', () => {
    const typed = type(['/', 'q', '1', 'x', ' ', 'u', 'backspace'])
    expect(typed.view.lists.live.filter).toBe('q1x ')
    expect(typed.view.mode).toEqual({ kind: 'typing', before: '' })
    expect(typed.effects).toEqual([])
    expect(type(['enter'], typed.view).view.mode).toEqual({ kind: 'list' })
  })

  test('is restored on escape, and cleared on a second one', () => {
    const { view } = type(['/', 'a', 'enter', '/', 'b', 'escape'])
    expect(view.lists.live.filter).toBe('a')
    expect(type(['escape'], view).view.lists.live.filter).toBe('')
  })

  test('chooses among the rows that the cursor moves on', () => {
    const typed = type([...'/state:image', 'enter', 'c'])
    expect(typed.effects).toEqual([{ kind: 'copy', text: ids[2] }])
    expect(type([...'/nobody', 'enter', 'c', 'enter', 'x']).effects).toEqual([])
  })
})

describe('ending a request', () => {
  test('asks first, and does it on y alone', () => {
    const asked = type(['j', 'x'])
    expect(asked.view.mode).toEqual({
      kind: 'confirm',
      id: ids[1],
      title: 'prod-web · openai/gpt-mini',
      behind: { kind: 'list' },
    })
    expect(asked.effects).toEqual([])
    expect(type(['y'], asked.view).effects).toEqual([{ kind: 'kill', id: ids[1] }])
    for (const key of ['n', 'enter', 'escape', ' ', 'x', 'j']) {
      const left = type([key], asked.view)
      expect([key, left.effects, left.view.mode.kind]).toEqual([key, [], 'list'])
    }
  })

  test('is of the request that was asked about, whatever the list does meanwhile', () => {
    const { view } = type(['j', 'x'])
    const empty = { ...SNAPSHOT, in_flight: { count: 0, peak: 9, requests: [] } }
    expect(type(['y'], view, empty).effects).toEqual([{ kind: 'kill', id: ids[1] }])
  })

  test('is, on the page of a request, of that request alone', () => {
    const page = { kind: 'detail', id: ids[1] } as const
    const opened = type(['j', 'enter'])
    expect(opened.view.mode).toEqual(page)
    const asked = type(['x'], opened.view)
    expect(asked.view.mode).toMatchObject({ kind: 'confirm', id: ids[1], behind: page })
    for (const key of ['y', 'n']) expect(type([key], asked.view).view.mode).toEqual(page)

    // It ends while its page is shown: nothing else takes its place, and nothing else is ended.
    const requests = SNAPSHOT.in_flight.requests.filter(({ id }) => id !== ids[1])
    const later = { ...SNAPSHOT, in_flight: { count: 6, peak: 9, requests } }
    const none = type(['x'], opened.view, later)
    expect(none.view).toMatchObject({ mode: page, message: `${ids[1]} has ended` })
    expect(type(['x', 'y'], opened.view, later).effects).toEqual([])
    expect(type(['c'], opened.view, later).effects).toEqual([{ kind: 'copy', text: ids[1] }])
    // The arrows go on to the next one.
    expect(type(['j'], opened.view).view.mode).toEqual({ kind: 'detail', id: ids[2] })
  })

  test('is only for requests in progress', () => {
    expect(type(['2', 'x']).view.mode.kind).toBe('list')
    expect(type(['5', 'x']).view.mode.kind).toBe('list')
  })
})

test('enter opens the details of a request, the page of a key and then its log, and the log of a model', () => {
  expect(type(['enter']).view.mode).toEqual({ kind: 'detail', id: ids[0] })
  expect(type(['enter', 'escape']).view.mode).toEqual({ kind: 'list' })
  const page = type(['2', 'enter']).view
  expect([page.screen, page.mode.kind]).toEqual(['keys', 'key'])
  expect(type(['escape'], page).view.mode).toEqual({ kind: 'list' })
  const ofKey = type(['enter'], page).view
  expect(ofKey.mode).toEqual({ kind: 'list' })
  expect([ofKey.screen, ofKey.lists.log.filter]).toEqual(['log', 'key:"ci-evals"'])
  const ofModel = type(['3', 'j', 'enter']).view
  expect([ofModel.screen, ofModel.lists.log.filter]).toEqual(['log', 'model:"openai/gpt-mini"'])
})

test('a frozen screen keeps its snapshot until unfrozen', () => {
  const frozen = type([' ']).view
  expect(frozen.frozen).toBe(SNAPSHOT)
  const later = { ...SNAPSHOT, in_flight: { count: 0, peak: 9, requests: [] } }
  expect(type(['c'], frozen, later).effects).toEqual([{ kind: 'copy', text: ids[0] }])
  expect(type([' '], frozen, later).view.frozen).toBeNull()
})

test('the rate stays between 1 and 10', () => {
  const faster = type(['+', '+'])
  expect(faster.effects).toEqual([
    { kind: 'rate', fps: 5 },
    { kind: 'rate', fps: 6 },
  ])
  expect(type(Array(20).fill('+')).view.fps).toBe(10)
  expect(type(Array(20).fill('-')).view.fps).toBe(1)
  expect(type(['-'], { ...startView('live', 1) }).effects).toEqual([])
})

test('m, b and d change the chart, only on its screen', () => {
  expect(type(['4', 'm', 'b', 'd']).view.chart).toEqual({
    metric: 'requests',
    by: 'user',
    bucket: 'hour',
  })
  expect(type(['m', 'b', 'd']).view.chart).toEqual(startView('live', 4).chart)
  expect(type(['4', 'm', 'm', 'm']).view.chart.metric).toBe('spend')
})

test('quitting, suspending, reconnecting', () => {
  expect(type(['q']).effects).toEqual([{ kind: 'quit' }])
  expect(type(['?', 'q']).effects).toEqual([{ kind: 'quit' }])
  expect(type(['/', 'ctrl-c']).effects).toEqual([{ kind: 'quit' }])
  expect(type(['x', 'ctrl-z']).effects).toEqual([{ kind: 'suspend' }])
  expect(type(['r']).effects).toEqual([{ kind: 'reconnect' }])
})

test('keys are harmless before the first snapshot', () => {
  for (const key of [...'jkgGscxeSu/? 12345', 'enter', 'escape', 'tab', 'pagedown', '\u0001']) {
    expect(() => press(startView('live', 4), key, null)).not.toThrow()
  }
})

describe('the help page', () => {
  const help = (keys: readonly Key[], scroll: number) =>
    type(['?', ...keys], startView('live', 4), SNAPSHOT, scroll).view.mode

  test.each<[Key[], number]>([
    [['down', 'j'], 2],
    [['down', 'up', 'k'], 0],
    [['pagedown'], 10],
    [['pagedown', 'pagedown', 'down', 'up'], 11],
    [['G'], 12],
    [['end', 'g'], 0],
  ])('of twelve lines too many, after %j, begins at line %i', (keys, top) => {
    expect(help(keys, 12)).toEqual({ kind: 'help', top })
  })

  test('goes with any other key, and where it fits with every key', () => {
    expect(help(['down', 'x'], 12)).toEqual({ kind: 'list' })
    expect(help(['down'], 0)).toEqual({ kind: 'list' })
  })
})

test('p opens the provider of the selected model, then the next one, and only there', () => {
  const first = type(['3', 'p']).view.mode
  expect(first).toMatchObject({ kind: 'provider' })
  const second = type(['3', 'p', 'p']).view.mode
  expect(second).toMatchObject({ kind: 'provider' })
  expect(second).not.toEqual(first)
  expect(type(['3', 'p', 'escape']).view.mode).toEqual({ kind: 'list' })
  expect(type(['2', 'p']).view.mode).toEqual({ kind: 'list' })
})

test('the page of a request keeps its line, whatever comes into the log after it', () => {
  const [one] = SNAPSHOT.log
  const view = { ...startView('log', 4), mode: { kind: 'detail', id: one?.id ?? '' } } as const
  const seen = withRecord(view, SNAPSHOT)
  expect(seen.mode).toEqual({ kind: 'detail', id: one?.id, record: one })
  const later = { ...SNAPSHOT, log: [ended(900)], errors: [] }
  expect(withRecord(seen, later)).toBe(seen)
  const scene = {
    view: seen,
    snapshot: later,
    link: { kind: 'live' },
    awayMs: 0,
    typed: [],
    chart: null,
    size: { columns: 80, rows: 24 },
    glyphs: UNICODE,
  } as const
  const text = draw(scene)
    .map((line) => toText(line, plain))
    .join('\n')
  expect(text).toContain(`request id    ${one?.request_id}`)
})
