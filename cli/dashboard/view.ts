/** The view: the current screen, and the selection, filter and sort of each screen, which survive switching. */
import type { LogRecord, SnapshotRecord } from '#operator/snapshot/record.ts'

export const SCREENS = ['live', 'keys', 'models', 'spend', 'log', 'trend'] as const
export type Screen = (typeof SCREENS)[number]

export const TITLES: Readonly<Record<Screen, string>> = {
  live: 'Live',
  keys: 'Keys',
  models: 'Models',
  spend: 'Spend',
  log: 'Log',
  trend: 'Trend',
}

export interface ListView {
  /** Id of the row under the cursor; null is the first. The cursor follows its row while others come and go. */
  readonly selected: string | null
  /** Its last index, for when its row is gone. */
  readonly place: number
  readonly filter: string
  /** Index into the sorts of its screen. */
  readonly sort: number
  readonly isReversed: boolean
}

/** The list of a screen, or all about one request, key or provider, whatever becomes of it meanwhile. */
export type Page =
  | { readonly kind: 'list' }
  /** `record` is its line in the log as it was last seen: later requests may displace it there. */
  | { readonly kind: 'detail'; readonly id: string; readonly record?: LogRecord }
  | { readonly kind: 'key'; readonly id: string }
  | { readonly kind: 'provider'; readonly id: string }

/** Without rows to move among, to filter or to sort. */
export const isChart = (screen: Screen): boolean => screen === 'spend' || screen === 'trend'

export type Mode =
  | Page
  /** The help page, scrolled down by so many lines where it is longer than the screen. */
  | { readonly kind: 'help'; readonly top: number }
  /** What the gateway told its operator, scrolled likewise. */
  | { readonly kind: 'notices'; readonly top: number }
  /** A filter being typed; escape restores `before`. */
  | { readonly kind: 'typing'; readonly before: string }
  /** Waits for confirmation before a request is ended; then `behind` is shown again. */
  | {
      readonly kind: 'confirm'
      readonly id: string
      readonly title: string
      readonly behind: Page
    }

export const METRICS = ['spend', 'requests', 'tokens'] as const
export const DIMENSIONS = ['key', 'user', 'model', 'provider'] as const
export const BUCKETS = ['day', 'hour'] as const

/** The query of the spend chart. */
export interface ChartQuery {
  readonly metric: (typeof METRICS)[number]
  readonly by: (typeof DIMENSIONS)[number]
  readonly bucket: (typeof BUCKETS)[number]
}

export interface View {
  readonly screen: Screen
  readonly lists: Readonly<Record<Screen, ListView>>
  readonly mode: Mode
  readonly currency: 'usd' | 'rub'
  /** The snapshot shown while the display is frozen. */
  readonly frozen: SnapshotRecord | null
  readonly fps: number
  readonly errorsOnly: boolean
  readonly chart: ChartQuery
  /** One line about the last action; the next key clears it. */
  readonly message: string | null
}

const LIST: ListView = { selected: null, place: 0, filter: '', sort: 0, isReversed: false }

export const startView = (screen: Screen, fps: number): View => ({
  screen,
  lists: { live: LIST, keys: LIST, models: LIST, spend: LIST, log: LIST, trend: LIST },
  mode: { kind: 'list' },
  currency: 'usd',
  frozen: null,
  fps,
  errorsOnly: false,
  chart: { metric: 'spend', by: 'key', bucket: 'day' },
  message: null,
})

/** What the screen shows: a question leaves it as it is. */
export const pageOf = ({ mode }: View): Mode => (mode.kind === 'confirm' ? mode.behind : mode)

export const listOf = ({ lists, screen }: View): ListView => lists[screen]

export const withList = (view: View, change: Partial<ListView>): View => ({
  ...view,
  lists: { ...view.lists, [view.screen]: { ...listOf(view), ...change } },
})

/** The cursor's index: that of its row, or the last one where the row is gone. */
export function placeOf({ selected, place }: ListView, ids: readonly string[]): number {
  const at = selected === null ? 0 : ids.indexOf(selected)
  return Math.max(0, Math.min(at < 0 ? place : at, ids.length - 1))
}
