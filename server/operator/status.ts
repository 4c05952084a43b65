/** Status: is it running, is it healthy, what is it spending. */
import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import type { HopReading } from '#domain/hop-health.ts'
import { renderRubPerUsd, renderUsd } from '#domain/money.ts'
import { renderHealth, worstOf } from './hop-record.ts'
import type { Office } from './office.ts'
import { renderThreshold } from './threshold-record.ts'
import { verb } from './verb.ts'

/** What is known of the appliance at one moment. */
export const showStatus = verb(z.strictObject({}), async (office) => {
  const { store, clock, live } = office
  const at = clock.now()
  const health = await store.health({ checkIntegrity: false })
  const [accounts, cards, rate] = await Promise.all([
    store.accounts.list(),
    store.models.list(),
    store.rates.at(at),
  ])
  return {
    version: office.version,
    running: live !== null,
    healthy: health.writable && health.schemaVersion === health.newestSchemaVersion,
    base_url: live?.baseUrl ?? null,
    listen: live?.listen ?? null,
    pid: live?.pid ?? null,
    started_at: live ? renderInstant(live.startedAt) : null,
    uptime_seconds: live ? Math.floor((at - live.startedAt) / 1000) : null,
    /** Null while no server runs, or nobody can sign in. */
    auth_url: live?.authUrl ?? null,
    clients: await store.signin.clients.count(),
    people: await store.signin.people.count(),
    in_flight: live ? live.inFlight() : 0,
    data_dir: office.dataDir,
    size_bytes: health.sizeBytes,
    schema_version: health.schemaVersion,
    newest_schema_version: health.newestSchemaVersion,
    providers: (await store.providers.list()).map(({ name, type, hasCredential }) => ({
      name,
      type,
      has_credential: hasCredential,
      models: cards.filter(({ provider }) => provider === name).length,
      health: live && healthOf(name, live.hops()),
    })),
    accounts: await Promise.all(accounts.map((account) => reportAccount(office, account))),
    ...(await spendOf(office)),
    rub_per_usd: renderRubPerUsd(rate.rubPerUsd),
    rate_set_by_operator: rate.setByOperator,
  }
})

/** A provider's hops as one, and those of them that have failed lately. */
function healthOf(name: string, readings: readonly HopReading[]) {
  const own = readings.filter(({ provider }) => provider === name)
  return {
    ...renderHealth(worstOf(own)),
    hops: own.map((reading) => ({ upstream: reading.upstreamName, ...renderHealth(reading) })),
  }
}

async function reportAccount({ store }: Office, { id, name, balance }: Account) {
  const { threshold_usd, marked, notified_at } = renderThreshold(await store.thresholds.find(id))
  return { name, balance_usd: renderUsd(balance), threshold_usd, marked, notified_at }
}

async function spendOf({ store, clock }: Office) {
  const { day, month } = await store.admissions.spend(clock.now())
  const { totalCount } = await store.keys.list({ includeRevoked: false, limit: 1 })
  return { keys: totalCount, spend_day_usd: renderUsd(day), spend_month_usd: renderUsd(month) }
}
