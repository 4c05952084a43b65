/** The controller: holds the view, receives keys and frames, and performs the effects of keys. */
import type { ChartRecord } from '#operator/snapshot/chart.ts'
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { draw, drawMessage, hiddenLines } from './draw.ts'
import { type Feed, type FeedOptions, type Link, startFeed } from './feed.ts'
import type { Glyphs } from './glyphs.ts'
import type { Line } from './line.ts'
import { type Effect, type Key, paste, press, withRecord } from './press.ts'
import { LEAST, type Size } from './scene.ts'
import { type ChartQuery, type Screen, startView, type View } from './view.ts'

/** An account by name; undefined is all of them. */
export type Whose = string | undefined

/** Calls to the running gateway beside the feed. */
export interface DashboardActions {
  chart(query: ChartQuery, account: Whose): Promise<ChartRecord>
  /** Resolves with a message about the result. */
  kill(id: string, account: Whose): Promise<string>
  /** The names of those that are open, oldest first. */
  accounts(): Promise<readonly string[]>
  /** Marks the notices up to this one as seen. */
  seen(upTo: string): Promise<void>
}

/** What only the terminal can do. */
export interface Terminal {
  quit(): void
  suspend(): void
  /** Redraws the whole screen, over anything another program wrote. */
  redraw(): void
  copy(text: string): void
}

export interface ControllerOptions {
  readonly source: Pick<FeedOptions, 'socket' | 'account'>
  readonly actions: DashboardActions
  readonly glyphs: Glyphs
  readonly typed: readonly string[]
  readonly screen: Screen
  readonly fps: number
  /** The snapshot to start with. */
  readonly first: SnapshotRecord | null
  /** Defaults to the feed over the socket. */
  readonly feed?: (options: FeedOptions) => Feed
}

export interface Controller {
  lines(size: Size): readonly Line[]
  press(key: Key, terminal: Terminal): void
  paste(text: string): void
  /** Calls back whenever there is something new to draw; returns the function that unsubscribes. */
  subscribe(changed: () => void): () => void
  stop(): void
}

/** A chart is computed from the whole log, so it is refreshed only once a minute. */
const CHART_MS = 60_000
/** How long to wait after a failed request. */
const CHART_AGAIN_MS = 2_000
const CLOCK_MS = 1_000

export function startController(options: ControllerOptions): Controller {
  const { source, actions, glyphs, typed, feed: openFeed = startFeed } = options
  let view: View = startView(options.screen, options.fps)
  let account: Whose = source.account
  let snapshot = options.first
  /** As it was last drawn. */
  let drawn: Size = LEAST
  let link: Link = { kind: options.first === null ? 'connecting' : 'live' }
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }
  const charts = createChartCache(actions, changed)

  const feed = openFeed({
    ...source,
    fps: options.fps,
    onFrame(frame) {
      snapshot = frame
      view = withRecord(view, frame)
      if (view.screen === 'spend') charts.request(view.chart, account)
      if (view.frozen === null) changed()
    },
    onLink(next) {
      const isNews = next.kind !== link.kind
      link = next
      if (isNews) changed()
    },
  })
  // Without frames, the time since the last one is still counted up.
  const clock = setInterval(() => 'sinceMs' in link && changed(), CLOCK_MS)

  const showMessage = (message: string): void => {
    view = { ...view, message }
    changed()
  }

  const showError = (thrown: unknown): void => showMessage(errorMessage(thrown))

  /** All of them come after the last. A frame of the one before is not shown as one of the next: the feed connects anew. */
  const switchAccount = async (): Promise<void> => {
    const names = await actions.accounts()
    if (names.length < 2) return showMessage('there is one account')
    account = names[account === undefined ? 0 : names.indexOf(account) + 1]
    view = { ...view, frozen: null }
    feed.setAccount(account)
    showMessage(account === undefined ? 'all accounts' : `account ${account}`)
  }

  const perform = (effect: Effect, terminal: Terminal): void => {
    if (effect.kind === 'quit') terminal.quit()
    else if (effect.kind === 'suspend') terminal.suspend()
    else if (effect.kind === 'redraw') terminal.redraw()
    else if (effect.kind === 'copy') terminal.copy(effect.text)
    else if (effect.kind === 'rate') feed.setRate(effect.fps)
    else if (effect.kind === 'reconnect') feed.reconnect()
    else if (effect.kind === 'seen') actions.seen(effect.upTo).catch(showError)
    else if (effect.kind === 'account') switchAccount().catch(showError)
    else actions.kill(effect.id, account).then(showMessage, showError)
  }

  return {
    lines(size) {
      drawn = size
      const seen = view.frozen ?? snapshot
      if (seen === null) return drawMessage(size, linkMessage(link))
      const awayMs = 'sinceMs' in link ? performance.now() - link.sinceMs : 0
      return draw({ view, snapshot: seen, link, awayMs, chart: charts.chart, size, glyphs, typed })
    },
    press(key, terminal) {
      const page = { view, glyphs, size: drawn, snapshot: view.frozen ?? snapshot }
      const pressed = press(view, key, snapshot, hiddenLines(page))
      view = snapshot === null ? pressed.view : withRecord(pressed.view, snapshot)
      if (view.screen === 'spend') charts.request(view.chart, account)
      changed()
      if (pressed.effect) perform(pressed.effect, terminal)
    },
    paste(text) {
      view = paste(view, text)
      changed()
    },
    subscribe(watcher) {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    stop() {
      clearInterval(clock)
      feed.stop()
    },
  }
}

const linkMessage = (link: Link): string =>
  link.kind === 'away'
    ? `no gateway: ${link.why}`
    : link.kind === 'silent'
      ? 'the gateway does not answer'
      : 'connecting…'

const errorMessage = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown)

/** Keeps the last requested chart, and requests it again once it is old. */
function createChartCache(actions: DashboardActions, changed: () => void) {
  let chart: ChartRecord | null = null
  let asked = ''
  let askedAt = Number.NEGATIVE_INFINITY
  return {
    get chart() {
      return chart
    },
    request(query: ChartQuery, account: Whose): void {
      const name = `${query.metric} ${query.by} ${query.bucket} ${account ?? ''}`
      if (name === asked && performance.now() - askedAt < CHART_MS) return
      if (name !== asked) chart = null
      asked = name
      askedAt = performance.now()
      actions.chart(query, account).then(
        (made) => {
          if (name !== asked) return
          chart = made
          changed()
        },
        // Requested again with a frame some seconds later, or by another query.
        () => {
          if (name === asked) askedAt = performance.now() - CHART_MS + CHART_AGAIN_MS
        },
      )
    },
  }
}
