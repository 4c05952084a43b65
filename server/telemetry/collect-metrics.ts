/** Collects the metrics of the running gateway for a scrape: counters, and gauges of the present state. */
import type { Account } from '#domain/account.ts'
import type { AccountUse, KeySpending } from '#domain/admission.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { keyStatus } from '#domain/key.ts'
import { withUse } from '#domain/key-report.ts'
import { isUsedUp, type Limits } from '#domain/limits.ts'
import { withThresholds } from '#domain/low-balance.ts'
import { renderUsdNumber, type UsdNanos } from '#domain/money.ts'
import type { Store } from '#domain/store.ts'
import type { HopReading } from '#domain/walk/hop-health.ts'
import type { WindowReading, WindowReadings } from '#domain/window.ts'
import {
  countedKeys,
  counter,
  gauge,
  type HistogramFamily,
  type MetricFamily,
  one,
  type Sample,
  talliedFamilies,
} from './metric-families.ts'
import type { Tally } from './tally.ts'

export interface MetricsDeps {
  readonly store: Pick<
    Store,
    'accounts' | 'admissions' | 'catalogue' | 'health' | 'keys' | 'thresholds'
  >
  readonly clock: Clock
  readonly version: string
  readonly startedAt: Instant
  readonly serving: {
    look(): Promise<void>
    countByKey(): ReadonlyMap<KeyId, number>
    hops(): readonly HopReading[]
    stuck(): number
    draining(): boolean
  }
}

/** Limits of keys and accounts with gauges of their own; all are still counted in the counters. */
const MAX_KEYS = 500
const MAX_ACCOUNTS = 500
/** After so many look-ups the event loop serves requests. */
const KEYS_PER_TURN = 50

/** All metric families, in output order. */
export async function collectMetrics(
  deps: MetricsDeps,
  tally: Tally,
): Promise<readonly (MetricFamily | HistogramFamily)[]> {
  await deps.serving.look()
  return [
    ...(await storeFamilies(deps)),
    ...processFamilies(),
    inFlight(deps, tally),
    ...talliedFamilies(tally),
    restingProviders(deps),
    ...(await keyFamilies(deps, [...countedKeys(tally)] as KeyId[])),
    ...(await accountFamilies(deps)),
  ]
}

async function storeFamilies(deps: MetricsDeps): Promise<readonly MetricFamily[]> {
  const { store, version, startedAt } = deps
  const health = await store.health({ checkIntegrity: false })
  return [
    gauge('gateway_build_info', 'Version and schema', [
      { labels: { version, schema: String(health.schemaVersion) }, value: 1 },
    ]),
    gauge(
      'gateway_up_since_seconds',
      'When it began to serve, in Unix seconds',
      one(startedAt / 1_000),
    ),
    gauge(
      'gateway_draining',
      'It takes no new chat requests',
      one(Number(deps.serving.draining())),
    ),
    gauge(
      'gateway_processes_stuck',
      'Processes that serve, and have not answered for 10 s',
      one(deps.serving.stuck()),
    ),
    gauge('gateway_store_writable', 'Whether the disk takes writes', one(Number(health.writable))),
    gauge('gateway_db_size_bytes', 'Of the database, without its log', one(health.sizeBytes)),
  ]
}

function processFamilies(): readonly MetricFamily[] {
  const { user, system } = process.cpuUsage()
  return [
    counter('process_cpu_seconds_total', 'CPU time used', one((user + system) / 1e6)),
    gauge('process_resident_memory_bytes', 'Resident memory', one(process.memoryUsage.rss())),
  ]
}

function inFlight({ serving }: MetricsDeps, tally: Tally): MetricFamily {
  const idle = [...countedKeys(tally)].map((key) => [key, 0] as const)
  const counts = new Map<string, number>([...idle, ...serving.countByKey()])
  const samples = [...counts].map(([key, value]) => ({ labels: { key }, value }))
  return gauge('gateway_inflight_requests', 'Chat requests in progress', samples)
}

function restingProviders({ store, serving }: MetricsDeps): MetricFamily {
  const resting = new Set(
    serving
      .hops()
      .filter(({ restsUntil }) => restsUntil !== null)
      .map(({ provider }) => provider),
  )
  return gauge(
    'gateway_provider_resting',
    'A hop of it failed so often that others are asked first',
    [...store.catalogue.current().providers.keys()].map((name) => ({
      labels: { provider: name },
      value: Number(resting.has(name)),
    })),
  )
}

async function accountFamilies({ store, clock }: MetricsDeps): Promise<readonly MetricFamily[]> {
  const accounts = (await store.accounts.list()).slice(0, MAX_ACCOUNTS)
  const thresholds: Sample[] = []
  const marks: Sample[] = []
  for (const [{ name }, { below, mark }] of await withThresholds(store.thresholds, accounts)) {
    const labels = { account: name }
    marks.push({ labels, value: Number(mark !== null) })
    if (below !== null) thresholds.push({ labels, value: renderUsdNumber(below) })
  }
  const limits: Sample[] = []
  const used: Sample[] = []
  const limited = accounts.filter((account) => isUsedUp(account.limits))
  const ids = limited.map(({ id }) => id)
  const uses = await store.admissions.accountUse(ids, clock.now())
  for (const [place, use] of uses.entries()) {
    const { name, limits: own } = limited[place] as Account
    for (const [limit, most, now] of limitUseOf(own, use)) {
      limits.push({ labels: { account: name, limit }, value: most })
      used.push({ labels: { account: name, limit }, value: now })
    }
  }
  return [
    gauge('gateway_account_limit', 'A limit of an account; none is left out', limits),
    gauge('gateway_account_used', 'What is used of that limit', used),
    gauge('gateway_balance_usd', 'Settled balance', accounts.map(balanceOf)),
    gauge(
      'gateway_low_balance_threshold_usd',
      'Balance below which the owner is notified',
      thresholds,
    ),
    gauge(
      'gateway_low_balance_marked',
      '1 once the balance fell below and the owner was notified',
      marks,
    ),
  ]
}

const balanceOf = ({ name, balance }: Account): Sample => ({
  labels: { account: name },
  value: renderUsdNumber(balance),
})

async function keyFamilies(
  deps: MetricsDeps,
  ids: readonly KeyId[],
): Promise<readonly MetricFamily[]> {
  const infos: Sample[] = []
  const limits: Sample[] = []
  const used: Sample[] = []
  const { store, clock } = deps
  const keys = (await store.keys.findMany(ids.slice(0, MAX_KEYS))).filter(
    (key) => keyStatus(key, clock.now()) === 'active',
  )
  for (let first = 0; first < keys.length; first += KEYS_PER_TURN) {
    if (first > 0) await new Promise((resolve) => setTimeout(resolve))
    const turn = keys.slice(first, first + KEYS_PER_TURN)
    for (const [key, spending, windows] of await withUse(store.admissions, turn, clock.now())) {
      const { id, name } = key
      infos.push({ labels: { key: id, name }, value: 1 })
      for (const [limit, most, now] of limitUseOf(key.limits, { ...spending, ...windows })) {
        limits.push({ labels: { key: id, limit }, value: most })
        used.push({ labels: { key: id, limit }, value: now })
      }
    }
  }
  return [
    gauge('gateway_key_info', 'The name behind a key id', infos),
    gauge('gateway_key_limit', 'A limit of a key; none is left out', limits),
    gauge('gateway_key_used', 'What is used of that limit', used),
  ]
}

type LimitUse = readonly [limit: string, most: number, used: number]

function limitUseOf(
  { concurrency, dailySpend, monthlySpend }: Limits,
  {
    minute,
    day,
    tokens,
    spendDay,
    spendMonth,
    requestsInProgress,
  }: AccountUse | (KeySpending & WindowReadings),
): readonly LimitUse[] {
  return [
    ...windowUse('rpm', minute),
    ...windowUse('rpd', day),
    ...windowUse('tpm', tokens),
    ...(concurrency === null ? [] : [['concurrency', concurrency, requestsInProgress] as const]),
    ...spendUse('day', dailySpend, spendDay),
    ...spendUse('month', monthlySpend, spendMonth),
  ]
}

const windowUse = (limit: string, reading: WindowReading | null): readonly LimitUse[] =>
  reading === null ? [] : [[limit, reading.limit, reading.limit - reading.remaining]]

const spendUse = (
  limit: string,
  most: UsdNanos | null,
  used: UsdNanos | null,
): readonly LimitUse[] =>
  most === null || used === null ? [] : [[limit, renderUsdNumber(most), renderUsdNumber(used)]]
