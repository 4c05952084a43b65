/** What PostgreSQL has of its own of keys: they are read for every request, so that a change holds from the next on every node. */
import type { Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import type { Keys } from '#domain/key.ts'
import { readSecret } from '#domain/secret.ts'
import type { HeldCatalogue } from '../../catalogue/held.ts'
import { inScope, type KeysOf, toDigest } from '../../keys/keys.ts'
import { type FoundKeyRow, toKey } from '../../rows/key-row.ts'
import { count, run } from '../../statements.ts'
import { batched } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { ACCOUNTS } from '../money/accounts.ts'
import { leave } from '../money/moved-days.ts'

const KEYS = `
  SELECT keys.id, keys.account_id, keys.name, kind, label, note, keys.limits, keys.created_at, updated_at, key_state.last_used_at,
    expires_at, disabled_at, revoked_at, made_by, accounts.limits AS account_limits
  FROM keys JOIN key_state ON key_state.key_id = keys.id JOIN accounts ON accounts.id = keys.account_id`

const STORED: Omit<KeysOf, 'findBySecret' | 'noteUse'> = {
  select: KEYS,
  // Cast twice: as jsonb the client would quote the text once more.
  ids: 'SELECT jsonb_array_elements_text($ids::text::jsonb)',
  count: (query) => count(`keys WHERE ${inScope(query)}`, { accountId: query.accountId }),
  open: ({ id, lastUsedAt }) =>
    run('INSERT INTO key_state (key_id, last_used_at) VALUES ($id, $lastUsedAt)', {
      id,
      lastUsedAt,
    }),
  leave,
  *forget({ id, accountId }) {
    yield* ACCOUNTS.lock(accountId)
    yield* run('UPDATE key_state SET mark_day = 0, mark_month = 0 WHERE key_id = $id', { id })
    yield* run('UPDATE end_user_days SET mark = 0 WHERE key_id = $id AND mark <> 0', { id })
  },
  seen: (key) => key,
  changed() {},
}

interface FoundRow extends FoundKeyRow {
  readonly sha256: Buffer
  readonly secret_ends: Instant | null
  /** The version of the catalogue that is in force. */
  readonly catalogue: number
}

interface Asked {
  readonly token: string
  readonly at: Instant
}

export function keysOf(database: Database, catalogue: HeldCatalogue): KeysOf {
  /** One row at a time: no other lock is waited for while one is held. */
  const noteUse = batched(async (uses: readonly { readonly id: KeyId; readonly at: Instant }[]) => {
    for (const [id, at] of new Map(uses.map((use) => [use.id, use.at]))) {
      await database.run('UPDATE key_state SET last_used_at = ? WHERE key_id = ?', at, id)
    }
    return uses
  })
  return {
    ...STORED,
    findBySecret: prepareFindBySecret(database, catalogue),
    noteUse(id, at) {
      database.track(noteUse({ id, at })).catch(() => {})
    },
  }
}

/** One call for all that are asked in a turn; a token that is no secret is asked for by nobody. */
function prepareFindBySecret(database: Database, catalogue: HeldCatalogue): Keys['findBySecret'] {
  const findAll = batched(async (asked: readonly Asked[]) => {
    const digests = asked.map(({ token }) => toDigest(token).toString('hex'))
    const rows = await database.lanes.find.all<FoundRow>(
      `SELECT found.*, s.sha256, s.expires_at AS secret_ends, (SELECT version FROM catalogue_version) AS catalogue FROM key_secrets s JOIN (${KEYS}) found ON found.id = s.key_id
       WHERE s.sha256 = ANY (?::bytea[])`,
      digests.map((digest) => `\\x${digest}`),
    )
    // Before anybody answers by the catalogue that was changed elsewhere.
    if (rows.some((row) => row.catalogue > catalogue.current().version)) await catalogue.refresh()
    const byDigest = new Map(rows.map((row) => [row.sha256.toString('hex'), row]))
    return asked.map(({ at }, nth) => {
      const row = byDigest.get(digests[nth] ?? '')
      const isOpen = row && (row.secret_ends === null || row.secret_ends > at)
      return isOpen ? toKey(row) : undefined
    })
  })
  return async (token, at) =>
    readSecret(token) === undefined ? undefined : await findAll({ token, at })
}
