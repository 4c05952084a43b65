/** What a key does: the next view, and an effect to perform outside of it. */
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { exactFilter } from './filter.ts'
import { findEnded, findRunning, type Listed, listed } from './lists.ts'
import {
  BUCKETS,
  DIMENSIONS,
  isChart,
  listOf,
  METRICS,
  type Page,
  placeOf,
  SCREENS,
  type Screen,
  startView,
  type View,
  withList,
} from './view.ts'

/** A key by name ("up", "enter", "ctrl-c"), or the character that was typed. */
export type Key = string

export type Effect =
  | { readonly kind: 'quit' }
  | { readonly kind: 'suspend' }
  | { readonly kind: 'reconnect' }
  /** The next account, and after the last all of them. */
  | { readonly kind: 'account' }
  | { readonly kind: 'redraw' }
  | { readonly kind: 'rate'; readonly fps: number }
  | { readonly kind: 'copy'; readonly text: string }
  | { readonly kind: 'kill'; readonly id: string }
  /** The notices up to this one were looked at. */
  | { readonly kind: 'seen'; readonly upTo: string }

export interface Pressed {
  readonly view: View
  readonly effect: Effect | null
}

const MAX_FPS = 10
const MAX_FILTER_CHARS = 60
/** A page, whatever the size of the screen. */
const PAGE_ROWS = 10

const result = (view: View, effect: Effect | null = null): Pressed => ({ view, effect })

/** `hidden` is how far the page of help or notices can be scrolled down. */
export function press(view: View, key: Key, snapshot: SnapshotRecord | null, hidden = 0): Pressed {
  const fresh = view.message === null ? view : { ...view, message: null }
  if (key === 'ctrl-c') return result(fresh, { kind: 'quit' })
  if (key === 'ctrl-z') return result(fresh, { kind: 'suspend' })
  if (key === 'ctrl-l') return result(fresh, { kind: 'redraw' })
  switch (fresh.mode.kind) {
    case 'typing':
      return result(typeInto(fresh, fresh.mode.before, key))
    case 'confirm':
      return answerConfirm(fresh, fresh.mode, key)
    case 'help':
    case 'notices':
      return pressInText(fresh, fresh.mode, key, hidden)
    case 'detail':
    case 'key':
    case 'provider':
    case 'list':
      return pressInList(fresh, key, snapshot)
  }
}

type Text = Extract<View['mode'], { kind: 'help' | 'notices' }>

function pressInText(view: View, { kind, top }: Text, key: Key, last: number): Pressed {
  if (key === 'q') return result(view, { kind: 'quit' })
  const move = last === 0 ? undefined : MOVES[key]
  if (move === undefined) return result(showList(view))
  const wanted = move(Math.min(top, last), last)
  return result({ ...view, mode: { kind, top: Math.max(0, Math.min(wanted, last)) } })
}

const showList = (view: View): View => ({ ...view, mode: { kind: 'list' } })

function typeInto(view: View, before: string, key: Key): View {
  const { filter } = listOf(view)
  if (key === 'enter') return showList(view)
  if (key === 'escape') return showList(withList(view, { filter: before }))
  if (key === 'backspace') {
    return withList(view, { filter: [...filter].slice(0, -1).join(''), selected: null })
  }
  // As in a shell.
  if (key === 'ctrl-u') return withList(view, { filter: '', selected: null, place: 0 })
  const isText = [...key].length === 1 && key >= ' '
  if (!isText || filter.length >= MAX_FILTER_CHARS) return view
  return withList(view, { filter: filter + key, selected: null, place: 0 })
}

/** Pasted text is no sequence of keys: its first line goes into a filter that is being typed; otherwise it is ignored. */
export function paste(view: View, text: string): View {
  if (view.mode.kind !== 'typing') {
    return { ...view, message: 'pasting works only in a filter: press / first' }
  }
  const { before } = view.mode
  const [line = ''] = text.trimStart().split(/[\r\n]/)
  return [...line].reduce((typed, character) => typeInto(typed, before, character), view)
}

function answerConfirm(view: View, { id, behind }: Asked, key: Key): Pressed {
  const back = { ...view, mode: behind }
  return key === 'y' || key === 'Y'
    ? result({ ...back, message: `ending ${id}…` }, { kind: 'kill', id })
    : result({ ...back, message: 'cancelled' })
}

type Asked = Extract<View['mode'], { kind: 'confirm' }>

function pressInList(view: View, key: Key, snapshot: SnapshotRecord | null): Pressed {
  const screen = screenFor(view, key)
  if (screen !== null) return result({ ...showList(view), screen })
  const simple = SIMPLE[key]
  if (simple) return result(simple(view))
  switch (key) {
    case 'q':
      return result(view, { kind: 'quit' })
    case 'n':
      return openNotices(view, view.frozen ?? snapshot)
    case 'r':
      return result({ ...view, message: 'reconnecting' }, { kind: 'reconnect' })
    case 'a':
      return result({ ...view, message: 'another account' }, { kind: 'account' })
    case '+':
    case '-':
      return changeRate(view, key === '+' ? 1 : -1)
    case ' ':
      return result({ ...view, frozen: view.frozen === null ? snapshot : null })
    default:
      return snapshot === null ? result(view) : pressOnRows(view, key, view.frozen ?? snapshot)
  }
}

/** Those that are shown are seen: not one that has come while the display is frozen. */
function openNotices(view: View, snapshot: SnapshotRecord | null): Pressed {
  const opened: View = { ...view, mode: { kind: 'notices', top: 0 } }
  const { unseen, latest } = snapshot?.notices ?? { unseen: 0, latest: [] }
  const [newest] = latest
  const isNews = unseen > 0 && newest !== undefined
  return result(opened, isNews ? { kind: 'seen', upTo: newest.event_id } : null)
}

function screenFor({ screen }: View, key: Key): Screen | null {
  const at = SCREENS.indexOf(screen)
  if (key === 'tab') return SCREENS[(at + 1) % SCREENS.length] ?? null
  if (key === 'shift-tab') return SCREENS[(at + SCREENS.length - 1) % SCREENS.length] ?? null
  return /^[1-6]$/.test(key) ? (SCREENS[Number(key) - 1] ?? null) : null
}

const nextOf = <T>(all: readonly [T, ...T[]], one: T): T =>
  all[(all.indexOf(one) + 1) % all.length] ?? all[0]

const chart =
  (change: (view: View) => Partial<View['chart']>) =>
  (view: View): View =>
    view.screen === 'spend' ? { ...view, chart: { ...view.chart, ...change(view) } } : view

/** Keys that depend only on the view. */
const SIMPLE: Readonly<Record<Key, (view: View) => View>> = {
  '?': (view) => ({ ...view, mode: { kind: 'help', top: 0 } }),
  u: (view) => ({ ...view, currency: view.currency === 'usd' ? 'rub' : 'usd' }),
  '/': (view) =>
    isChart(view.screen)
      ? view
      : { ...view, mode: { kind: 'typing', before: listOf(view).filter } },
  escape: (view) =>
    isPage(view) ? showList(view) : withList(view, { filter: '', selected: null }),
  S: (view) => withList(view, { isReversed: !listOf(view).isReversed }),
  e: (view) => (view.screen === 'log' ? { ...view, errorsOnly: !view.errorsOnly } : view),
  m: chart(({ chart }) => ({ metric: nextOf(METRICS, chart.metric) })),
  b: chart(({ chart }) => ({ by: nextOf(DIMENSIONS, chart.by) })),
  d: chart(({ chart }) => ({ bucket: nextOf(BUCKETS, chart.bucket) })),
}

function changeRate(view: View, by: number): Pressed {
  const fps = Math.min(MAX_FPS, Math.max(1, view.fps + by))
  if (fps === view.fps) return result(view)
  return result({ ...view, fps }, { kind: 'rate', fps })
}

const MOVES: Readonly<Record<Key, (place: number, last: number) => number>> = {
  up: (place) => place - 1,
  k: (place) => place - 1,
  down: (place) => place + 1,
  j: (place) => place + 1,
  pageup: (place) => place - PAGE_ROWS,
  pagedown: (place) => place + PAGE_ROWS,
  g: () => 0,
  home: () => 0,
  G: (_, last) => last,
  end: (_, last) => last,
}

function pressOnRows(view: View, key: Key, snapshot: SnapshotRecord): Pressed {
  const all = listed(snapshot, view)
  const place = placeOf(listOf(view), all.ids)
  const page = shownPage(view)
  const selected = page.kind === 'detail' || page.kind === 'key' ? page.id : all.ids[place]
  const move = MOVES[key]
  if (move) return result(moveTo(view, all, move(place, all.ids.length - 1)))
  switch (key) {
    case 's':
      return result(
        withList(view, { sort: (listOf(view).sort + 1) % Math.max(1, all.sorts.length) }),
      )
    case 'c':
      return selected === undefined
        ? result(view)
        : result({ ...view, message: `copied ${selected}` }, { kind: 'copy', text: selected })
    case 'enter':
      return selected === undefined ? result(view) : result(openSelected(view, selected, snapshot))
    case 'p':
      return result(nextProvider(view, page, selected, snapshot))
    case 'x':
      return result(confirmEnd(view, page, selected, snapshot))
    default:
      return result(view)
  }
}

function moveTo(view: View, { ids }: Listed, wanted: number): View {
  const place = Math.max(0, Math.min(wanted, ids.length - 1))
  const selected = ids[place] ?? null
  const moved = withList(view, { place, selected })
  const { kind } = view.mode
  return (kind === 'detail' || kind === 'key') && selected !== null
    ? { ...moved, mode: { kind, id: selected } }
    : moved
}

/** The page in front of the list, if any. */
function shownPage({ mode }: View): Page {
  switch (mode.kind) {
    case 'detail':
    case 'key':
    case 'provider':
      return mode
    default:
      return { kind: 'list' }
  }
}

const isPage = (view: View): boolean => shownPage(view).kind !== 'list'

/** The page of the provider that serves the selected model, then of the next one. */
function nextProvider(
  view: View,
  page: Page,
  selected: string | undefined,
  { models, providers }: SnapshotRecord,
): View {
  if (view.screen !== 'models') return view
  const serving = models.find(({ model }) => model === selected)?.providers ?? []
  const names = [
    ...serving,
    ...providers.map(({ name }) => name).filter((name) => !serving.includes(name)),
  ]
  const at = page.kind === 'provider' ? names.indexOf(page.id) + 1 : 0
  const id = names[at % Math.max(1, names.length)]
  return id === undefined ? view : { ...view, mode: { kind: 'provider', id } }
}

/** Keeps the line of the request that is looked at: those that come after it displace it in the log. */
export function withRecord(view: View, snapshot: SnapshotRecord): View {
  const { mode } = view
  if (mode.kind !== 'detail') return view
  const record = findEnded(snapshot, mode.id)
  return record === undefined || record === mode.record
    ? view
    : { ...view, mode: { ...mode, record } }
}

/** Opens the page of a key, from there or from a model the log filtered by it, or the details of a request. */
function openSelected(view: View, selected: string, snapshot: SnapshotRecord): View {
  const pinned = withList(view, { selected })
  if (view.screen === 'keys' && view.mode.kind !== 'key') {
    return { ...pinned, mode: { kind: 'key', id: selected } }
  }
  const wanted =
    view.screen === 'keys'
      ? snapshot.keys.rows.find(({ id }) => id === selected)?.name
      : view.screen === 'models'
        ? selected
        : undefined
  if (wanted === undefined) return { ...pinned, mode: { kind: 'detail', id: selected } }
  const field = view.screen === 'keys' ? 'key' : 'model'
  const { lists } = startView('log', view.fps)
  return {
    ...showList(pinned),
    screen: 'log',
    lists: { ...pinned.lists, log: { ...lists.log, filter: exactFilter(field, wanted) } },
  }
}

function confirmEnd(
  view: View,
  behind: Page,
  id: string | undefined,
  snapshot: SnapshotRecord,
): View {
  if (view.screen !== 'live' || id === undefined) return view
  const found = findRunning(snapshot, id)
  if (found === undefined) return { ...view, message: `${id} has ended` }
  const title = `${found.key_name} · ${found.model}`
  return {
    ...withList(view, { selected: found.id }),
    mode: { kind: 'confirm', id: found.id, title, behind },
  }
}
