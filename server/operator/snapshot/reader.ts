/** Reads snapshots of a running gateway for watchers; each part has its own refresh interval. */
import type { Account } from '#domain/account.ts'
import { elapsedMs, HOUR_MS, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { FIGURES_MS, readSpan, type Span } from '#domain/snapshot/figures.ts'
import { MAX_RECENT, MAX_RECENT_ERRORS } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import type { LiveFacts, OperatorDeps } from '../deps.ts'
import { accountNameOf, openAccounts } from '../find-account.ts'
import { keptReading } from '../kept-reading.ts'
import { renderNotices } from '../notices.ts'
import { readLimits } from '../read-limits.ts'
import { type CachedPart, createCachedPart } from './cached-part.ts'
import { readKeys } from './keys.ts'
import { readEarlier, startTail } from './log.ts'
import { readModelDay, readProviders, renderModels } from './models.ts'
import { readMoney } from './money.ts'
import type { FrameRecord, GatewayRecord, NoticesRecord } from './record.ts'
import { renderInFlight, renderTraffic } from './traffic.ts'
import { prepareTrends, startTrends } from './trends.ts'

export interface SnapshotReader {
  /** `next` returns what this watcher has not seen yet; first everything. */
  watch(): { next(): Promise<FrameRecord> }
}

const SECOND_MS = 1_000
/** Less often, because it scans a day's log. */
const MODEL_DAY_MS = 10_000

/** Of all other accounts. */
const OTHERS_MS = 5_000

/** Money and keys of one account, with the limits that others are at; requests of all, or with `isNarrow` of that account. @throws store_unavailable */
export async function openSnapshots(
  deps: OperatorDeps,
  account: Account,
  isNarrow: boolean,
): Promise<SnapshotReader> {
  const { live, watch } = requireRunning(deps)
  const only = isNarrow ? account.id : null
  const parts = startParts(deps, live, watch, account, isNarrow)
  const earlier = await readEarlier(deps, only)

  const startWatching = () => {
    const seen = new Map<Pick<CachedPart<unknown>, 'read'>, number>()
    const { recent, errors: failed } = watch.pulse
    const tails = {
      log: startTail(deps, recent, earlier.log, MAX_RECENT, only),
      errors: startTail(deps, failed, earlier.errors, MAX_RECENT_ERRORS, only),
    }
    return {
      async next(): Promise<FrameRecord> {
        const now = deps.clock.now()
        const frame: Record<string, unknown> = {
          at: renderInstant(now),
          in_flight: renderInFlight(watch, now, only),
        }
        for (const [name, part] of Object.entries(parts)) {
          const { value, version } = await part.read()
          if (seen.get(part) !== version) frame[name] = value
          seen.set(part, version)
        }
        for (const [name, tail] of Object.entries(tails)) {
          const lines = await tail()
          if (lines !== null) frame[name] = lines
        }
        return frame as unknown as FrameRecord
      },
    }
  }

  return { watch: startWatching }
}

function requireRunning({ live, watch, dataDir }: OperatorDeps) {
  if (live && watch) return { live, watch }
  throw new GatewayError(
    'store_unavailable',
    `no gateway is running on this data directory${dataDir === null ? '' : ` (${dataDir})`}`,
    { hint: 'gatewayctl serve' },
  )
}

function startParts(
  deps: OperatorDeps,
  live: LiveFacts,
  watch: Watch,
  account: Account,
  isNarrow: boolean,
) {
  const { clock } = deps
  const span = (ms: number) => (): Span => readSpan(watch.pulse.endings, clock.now(), ms)
  const lately = createCachedPart(clock, SECOND_MS, async () => span(FIGURES_MS)())
  const keys = createCachedPart(clock, 2 * SECOND_MS, () =>
    readKeys(deps, account, span(HOUR_MS)()),
  )
  const modelDay = createCachedPart(clock, MODEL_DAY_MS, () => readModelDay(deps))
  const recent = async (): Promise<Span> => (await lately.read()).value
  return {
    account: createCachedPart(clock, SECOND_MS, async () =>
      isNarrow ? await accountNameOf(deps, account.id) : null,
    ),
    gateway: createCachedPart(clock, SECOND_MS, () => readGateway(deps, live, watch)),
    traffic: createCachedPart(clock, SECOND_MS, async () => renderTraffic(watch, await recent())),
    keys: createCachedPart(clock, 2 * SECOND_MS, async () => {
      const { keys: own } = (await keys.read()).value
      const read = async () =>
        readLimits(
          deps,
          (await openAccounts(deps)).filter(({ id }) => id !== account.id),
        )
      const others = isNarrow
        ? []
        : await keptReading(deps, `limits but ${account.id}`, read, OTHERS_MS)
      const warnings = [...own.warnings, ...others].toSorted((a, b) => b.level - a.level)
      return { ...own, warnings }
    }),
    money: createCachedPart(clock, SECOND_MS, async () =>
      readMoney(deps, account, (await keys.read()).value.caps),
    ),
    models: createCachedPart(clock, 2 * SECOND_MS, async () =>
      renderModels(
        watch,
        await recent(),
        (await modelDay.read()).value,
        deps.store.catalogue.current().aliases,
      ),
    ),
    notices: createCachedPart(clock, 2 * SECOND_MS, () => readNotices(deps)),
    trends: startTrends(clock, prepareTrends(deps, isNarrow ? account.id : null)),
    providers: createCachedPart(clock, SECOND_MS, async () =>
      readProviders(deps, live, watch, await recent()),
    ),
  }
}

/** A screenful. */
const MAX_NOTICES = 50

async function readNotices(deps: OperatorDeps): Promise<NoticesRecord> {
  const { events } = deps.store
  const latest = await renderNotices(deps, await events.list({ limit: MAX_NOTICES }))
  return { unseen: await events.unseen(), latest }
}

async function readGateway(
  { store, version, clock }: OperatorDeps,
  { baseUrl, listen, pid, startedAt }: LiveFacts,
  watch: Watch,
): Promise<GatewayRecord> {
  const health = await store.health({ checkIntegrity: false })
  return {
    version,
    accounts: (await store.accounts.list()).length,
    base_url: baseUrl,
    listen,
    pid,
    started_at: renderInstant(startedAt),
    uptime_seconds: Math.floor(elapsedMs(startedAt, clock.now()) / 1000),
    healthy: health.writable && health.schemaVersion === health.newestSchemaVersion,
    draining: watch.draining(),
    nodes: watch.nodes(),
  }
}
