/** The latest requests; those that ended before anybody watched are read from the log once. */

import type { ActivityEntry } from '#domain/activity.ts'
import { DAY_MS, later } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { Latest } from '#domain/snapshot/pulse.ts'
import { MAX_RECENT, MAX_RECENT_ERRORS } from '#domain/snapshot/pulse.ts'
import { statedIn } from '#domain/stated.ts'
import { renderActivity } from '../activity-record.ts'
import type { OperatorDeps } from '../deps.ts'
import type { LogRecord } from './record.ts'

/**
 * Returns the entries added to a ring since the last call, newest first, or null; the first call includes `earlier`. Of all
 * accounts, or of one.
 */
export function startTail(
  deps: OperatorDeps,
  ring: Latest<ActivityEntry>,
  earlier: readonly LogRecord[],
  most: number,
  account: AccountId | null,
): () => Promise<readonly LogRecord[] | null> {
  let seen: number | null = null
  return async () => {
    const before = seen
    seen = ring.count
    if (seen === before) return null
    const own = [...ring.since(before ?? 0)].filter(
      ({ accountId }) => account === null || accountId === account,
    )
    const fresh = await renderEntries(deps, own)
    if (before === null) {
      const known = new Set(fresh.map(({ id }) => id))
      return [...fresh, ...earlier.filter(({ id }) => !known.has(id))].slice(0, most)
    }
    return fresh.length === 0 ? null : fresh
  }
}

/** The log so far, so that screens are not empty after a restart. */
export async function readEarlier(deps: OperatorDeps, account: AccountId | null) {
  const { store, clock } = deps
  // Only a day, because errors may be rare and a log of millions must not be scanned for them.
  const before = {
    since: later(clock.now(), -DAY_MS),
    ...statedIn({ accountId: account }),
  }
  const [log, errors] = await Promise.all([
    store.activity.list({ ...before, limit: MAX_RECENT }),
    store.activity.list({ ...before, limit: MAX_RECENT_ERRORS, errorsOnly: true }),
  ])
  return {
    log: await renderEntries(deps, log),
    // Requests that the client cancelled are not errors.
    errors: await renderEntries(
      deps,
      errors.filter(({ code }) => code !== null),
    ),
  }
}

async function renderEntries(
  { store }: OperatorDeps,
  entries: readonly ActivityEntry[],
): Promise<readonly LogRecord[]> {
  const names = new Map<KeyId, string>()
  for (const { keyId } of entries) {
    if (!names.has(keyId)) names.set(keyId, (await store.keys.find(keyId))?.name ?? keyId)
  }
  return entries.map((entry) => render(entry, names.get(entry.keyId) ?? entry.keyId))
}

const render = (entry: ActivityEntry, keyName: string): LogRecord => ({
  ...renderActivity(entry, keyName),
  message: messageOf(entry),
  attempts: entry.failedAttempts.map(({ model, provider, outcome, status, reason, ms }) => ({
    model,
    provider,
    outcome,
    status,
    reason,
    ms,
  })),
})

function messageOf({ refusal, code, failedAttempts }: ActivityEntry): string | null {
  if (refusal !== null) return refusal.message
  if (code === null) return null
  const last = failedAttempts.at(-1)
  return last ? `${last.provider}: ${last.reason}` : null
}
