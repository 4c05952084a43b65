/** The status verb. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { elapsedMs, renderInstant } from '#domain/clock.ts'
import { withThresholds } from '#domain/low-balance.ts'
import { renderRubPerUsd, renderUsd } from '#domain/money.ts'
import type { Provider } from '#domain/provider.ts'
import { rateAt } from '#domain/rate.ts'
import { FIGURES_MS, readSpan, type Span } from '#domain/snapshot/figures.ts'
import { isServed, type Watch } from '#domain/snapshot/watch.ts'
import { statedIn } from '#domain/stated.ts'
import { scopeField } from '#forms/fields.ts'
import { lastBackupAt } from './backup.ts'
import {
  type CredentialTroubleRecord,
  credentialTroubles,
  providerHealth,
} from './credential-trouble.ts'
import type { LiveFacts, OperatorDeps } from './deps.ts'
import { checkServer } from './doctor/server.ts'
import { findScope } from './find-account.ts'
import { renderHealth, worstOf } from './hop-record.ts'
import { peopleOf } from './people-of.ts'
import { readLimits } from './read-limits.ts'
import { renderServed } from './snapshot/models.ts'
import { readDays, renderRunway, sumsOf } from './snapshot/money.ts'
import { renderTraffic } from './snapshot/traffic.ts'
import { renderThreshold } from './threshold-record.ts'
import { verb } from './verb.ts'

/** False skips keys near their limits and the last backup, for callers that only need the health. */
const input = z.strictObject({ account: scopeField, warnings: z._default(z.boolean(), true) })

/** Money and keys of all accounts unless one is named; traffic and providers are of the whole gateway. @throws account_not_found */
export const showStatus = verb(input, async (deps, { account, warnings }) => {
  const { store, clock, live, watch } = deps
  const at = clock.now()
  const span = watch ? readSpan(watch.pulse.endings, at, FIGURES_MS) : null
  const nodes = watch?.nodes() ?? null
  const health = await store.health({ checkIntegrity: false })
  const within = await findScope(deps, account)
  const accounts = within === null ? await store.accounts.list() : [within]
  const catalogue = store.catalogue.current()
  const cards = [...catalogue.models.values()]
  const rate = rateAt(catalogue, at)
  return {
    version: deps.version,
    /** The name of the account that money and keys are of; null: of all. */
    account: within?.name ?? null,
    /** At this machine, or at any node. */
    running: live !== null || (watch !== undefined && isServed(watch)),
    healthy: health.writable && health.schemaVersion === health.newestSchemaVersion,
    base_url: live?.baseUrl ?? null,
    listen: live?.listen ?? null,
    pid: live?.pid ?? null,
    started_at: live ? renderInstant(live.startedAt) : null,
    uptime_seconds: live ? Math.floor(elapsedMs(live.startedAt, at) / 1000) : null,
    /** Null while no server runs or the sign-in provider is off. */
    auth_url: live?.authUrl ?? null,
    /** Where people look after their account; null while no server runs, or where it is off. */
    cabinet_url: live?.cabinetUrl ?? null,
    clients: await store.signin.clients.count(),
    people: await store.signin.people.count(),
    in_flight: watch?.count() ?? 0,
    /** As `nodes list` has them; null where one process has the store. */
    nodes,
    /** What `doctor` has against the database that nodes share. */
    server_warnings: await warnOfServer(deps, warnings),
    draining: watch?.draining() ?? false,
    /** Of the last five minutes; null while no server runs. */
    traffic: watch && span ? trafficOf(watch, span) : null,
    data_dir: deps.dataDir,
    size_bytes: health.sizeBytes,
    schema_version: health.schemaVersion,
    newest_schema_version: health.newestSchemaVersion,
    /** Null without a backup, and for a store in memory. */
    last_backup_at: warnings ? await backupOf(deps) : null,
    providers: [...catalogue.providers.values()].map((provider) => {
      const { name, type, credentials } = provider
      const troubles = credentialTroubles(live, provider)
      return {
        name,
        type,
        has_credential: credentials.length > 0,
        /** Of several, those that rest or were refused. */
        credentials: troubles,
        models: cards.filter((card) => card.provider === name).length,
        health: live && healthOf(live, provider, troubles),
        ...servedOf(name, watch, span),
      }
    }),
    accounts: await reportAccounts(deps, accounts),
    ...(await spendOf(deps, within)),
    /** Keys near a limit, or at one. */
    warnings: warnings ? await readLimits(deps, accounts) : [],
    rub_per_usd: renderRubPerUsd(rate.rubPerUsd),
    rate_set_by_operator: rate.setByOperator,
  }
})

/** Without what is so by choice. */
async function warnOfServer(deps: OperatorDeps, isWanted: boolean): Promise<readonly string[]> {
  const found = isWanted ? await checkServer(deps) : []
  return found.flatMap(({ check, level, message }) =>
    level === 'problem' || (level === 'warning' && check !== 'replication') ? [message] : [],
  )
}

/** A provider's health over all its hops, and the hops with recent failures. */
function healthOf(
  live: LiveFacts,
  provider: Provider,
  troubles: readonly CredentialTroubleRecord[],
) {
  const own = live.hops().filter((reading) => reading.provider === provider.name)
  const byHop = Map.groupBy(own, ({ upstreamName }) => upstreamName)
  return {
    ...providerHealth(provider, own, troubles),
    hops: [...byHop].map(([upstream, hops]) => ({ upstream, ...renderHealth(worstOf(hops)) })),
  }
}

function trafficOf(watch: Watch, span: Span) {
  const { curves, ...traffic } = renderTraffic(watch, span)
  return traffic
}

/** A provider's success rate and failures in the last five minutes; null without requests. */
function servedOf(name: string, watch: Watch | undefined, span: Span | null) {
  if (watch === undefined || span === null) return { served_percent: null, failed: null }
  const failures = [...watch.pulse.failures.since()].filter(
    ({ at, provider }) => provider === name && at > span.now - FIGURES_MS,
  )
  const { served_percent, failed } = renderServed(name, span, failures)
  return { served_percent, failed }
}

const UNWATCHED = { threshold_usd: null, marked: false, notified_at: null }

async function reportAccounts(deps: OperatorDeps, accounts: readonly Account[]) {
  const { store, clock } = deps
  const now = clock.now()
  const days = await readDays(deps, now)
  const found = await withThresholds(store.thresholds, accounts)
  const records = []
  for (const [account, threshold] of found) {
    const { id, name, balance } = account
    // Nobody waits for money on one that is closed.
    const { threshold_usd, marked, notified_at } =
      account.closedAt === null ? renderThreshold(threshold) : UNWATCHED
    const own = days.filter(({ accountId }) => accountId === id)
    const runway = renderRunway(balance, own, now)
    const balance_usd = renderUsd(balance)
    const { owners } = await peopleOf(deps, account)
    records.push({ name, balance_usd, runway, threshold_usd, marked, notified_at, owners })
  }
  return records
}

const backupOf = async (deps: OperatorDeps): Promise<string | null> =>
  deps.dataDir === null ? null : renderInstant(await lastBackupAt(deps))

async function spendOf(deps: OperatorDeps, account: Account | null) {
  const { store, clock } = deps
  const now = clock.now()
  const { day, month } =
    account === null
      ? await store.admissions.spend(now)
      : sumsOf(
          (await readDays(deps, now)).filter(({ accountId }) => accountId === account.id),
          now,
        )
  const { totalCount } = await store.keys.list({
    includeRevoked: false,
    limit: 1,
    ...statedIn({ accountId: account?.id }),
  })
  return { keys: totalCount, spend_day_usd: renderUsd(day), spend_month_usd: renderUsd(month) }
}
