/** Keys in PostgreSQL: read for every request, so that a change holds from the next on every node. */
import { accountClosed } from '#domain/account.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { type ApiKey, amendKey, type KeyQuery, type Keys } from '#domain/key.ts'
import { describeAmendment } from '#domain/key-report.ts'
import { labelOf, readSecret, type Secret } from '#domain/secret.ts'
import type { HeldCatalogue } from '../../catalogue/held.ts'
import { type FoundKeyRow, fromKey, toKey } from '../../rows/key-row.ts'
import { batched } from '../engine/batch.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { lockAccount } from '../money/lock-account.ts'
import { leave } from '../money/moved-days.ts'
import { keyNotFound } from './key-not-found.ts'

const KEYS = `
  SELECT k.id, k.account_id, k.name, k.kind, k.label, k.note, k.limits, k.created_at, k.updated_at, t.last_used_at, k.expires_at, k.disabled_at,
    k.revoked_at, k.made_by, a.limits AS account_limits
  FROM keys k JOIN key_state t ON t.key_id = k.id JOIN accounts a ON a.id = k.account_id`

const toDigest = (token: string): Buffer => Buffer.from(Bun.SHA256.hash(token, 'base64'), 'base64')

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

const find = async (sql: Sql, id: KeyId): Promise<ApiKey | undefined> => {
  const row = await sql.get<FoundKeyRow>(`${KEYS} WHERE k.id = ?`, id)
  return row === null ? undefined : toKey(row)
}
const requireKey = async (tx: Sql, id: KeyId): Promise<ApiKey> => {
  const key = await find(tx, id)
  if (key) return key
  throw keyNotFound(id)
}
const requireUnrevoked = async (tx: Sql, id: KeyId): Promise<ApiKey> => {
  const key = await requireKey(tx, id)
  if (key.revokedAt === null) return key
  throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
}

export function createKeys(database: Database, catalogue: HeldCatalogue): Keys {
  /** One row at a time: no other lock is waited for while one is held. */
  const noteUse = batched(async (uses: readonly { readonly id: KeyId; readonly at: Instant }[]) => {
    for (const [id, at] of new Map(uses.map((use) => [use.id, use.at]))) {
      await database.run('UPDATE key_state SET last_used_at = ? WHERE key_id = ?', at, id)
    }
    return uses
  })

  return {
    findBySecret: prepareFindBySecret(database, catalogue),
    ...listKeys(database),

    issue: (key, secret, act) =>
      database.change(async (tx) => {
        await requireOpen(tx, key.accountId)
        await noteAct(tx, act)
        const row = fromKey(key)
        const columns = Object.keys(row)
        await tx.run(
          `INSERT INTO keys (${columns.join(', ')}) VALUES ($${columns.join(', $')})`,
          row,
        )
        await tx.run(
          'INSERT INTO key_state (key_id, last_used_at) VALUES (?, ?)',
          key.id,
          key.lastUsedAt,
        )
        await keepSecret(tx, secret, key, key.createdAt)
      }),

    amend: (id, amendment, act) =>
      database.change(async (tx) => {
        const before = await requireUnrevoked(tx, id)
        const amended = { before, after: amendKey(before, amendment, act.at) }
        await update(tx, amended.after)
        await noteAct(tx, act, describeAmendment(amended))
        return amended
      }),

    move: (id, accountId, act) =>
      database.change(async (tx) => {
        const before = await requireUnrevoked(tx, id)
        await requireOpen(tx, accountId)
        // Nothing is admitted or settled of either.
        await tx.all(
          'SELECT 1 FROM account_state WHERE account_id = ANY (?::text[]) ORDER BY account_id FOR UPDATE',
          [before.accountId, accountId],
        )
        if (accountId !== before.accountId) await leave(tx, before, accountId)
        await update(tx, { ...before, accountId, updatedAt: act.at })
        await noteAct(tx, act)
        // Read again: its account's limits are others.
        return { before, after: await requireKey(tx, id) }
      }),

    rotate: (id, secret, graceUntil, act) =>
      database.change(async (tx) => {
        const { at } = act
        await noteAct(tx, act)
        const key = { ...(await requireUnrevoked(tx, id)), label: labelOf(secret), updatedAt: at }
        await tx.run(
          `UPDATE key_secrets SET expires_at = $until
           WHERE key_id = $id AND (expires_at IS NULL OR expires_at > $until)`,
          { id, until: graceUntil ?? at },
        )
        await keepSecret(tx, secret, key, at)
        await update(tx, key)
        return key
      }),

    noteUse(id, at) {
      database.track(noteUse({ id, at })).catch(() => {})
    },

    revoke: (id, act) =>
      database.change(async (tx) => {
        const { at } = act
        const key = await requireKey(tx, id)
        if (key.revokedAt !== null) return key
        await noteAct(tx, act)
        const revoked = { ...key, revokedAt: at, updatedAt: at }
        await update(tx, revoked)
        return revoked
      }),
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

function listKeys(
  database: Database,
): Pick<Keys, 'find' | 'findMany' | 'search' | 'list' | 'isNamed'> {
  const scopeOf = ({ accountId, includeRevoked }: KeyQuery) => ({
    account: accountId ?? null,
    revoked: includeRevoked,
  })
  const IN_SCOPE =
    '($account::text IS NULL OR k.account_id = $account) AND ($revoked::boolean OR k.revoked_at IS NULL)'
  return {
    async find(id) {
      await database.flush()
      return await find(database, id)
    },
    async findMany(ids) {
      await database.flush()
      const rows = await database.all<FoundKeyRow>(`${KEYS} WHERE k.id = ANY (?::text[])`, ids)
      const byId = new Map(rows.map((row) => [row.id, toKey(row)]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
    async search(text, limit, accountId) {
      await database.flush()
      const rows = await database.all<FoundKeyRow>(
        `${KEYS} WHERE (k.id = $text OR k.name = $text OR ($text::text <> '' AND starts_with(k.label, $text)))
           AND ($account::text IS NULL OR k.account_id = $account)
         ORDER BY k.id DESC LIMIT $limit`,
        { text, limit, account: accountId ?? null },
      )
      return rows.map(toKey)
    },
    async list(query) {
      await database.flush()
      const { after = null, limit } = query
      const scope = scopeOf(query)
      const rows = await database.all<FoundKeyRow>(
        `${KEYS} WHERE ${IN_SCOPE} AND ($after::text IS NULL OR k.id < $after) ORDER BY k.id DESC LIMIT $limit`,
        { ...scope, after, limit: limit + 1 },
      )
      const counted = await database.get<{ n: number }>(
        `SELECT count(*) AS n FROM keys k WHERE ${IN_SCOPE}`,
        scope,
      )
      return {
        keys: rows.slice(0, limit).map(toKey),
        hasMore: rows.length > limit,
        totalCount: counted?.n ?? 0,
      }
    },
    async isNamed(name, accountId) {
      await database.flush()
      const row = await database.get(
        `SELECT 1 FROM keys WHERE name = $name AND revoked_at IS NULL
           AND ($account::text IS NULL OR account_id = $account) LIMIT 1`,
        { name, account: accountId ?? null },
      )
      return row !== null
    },
  }
}

/** All but its last use, which admission writes. Its marks are found out again, by whatever limits it has then. */
async function update(tx: Sql, key: ApiKey): Promise<void> {
  // Before any row that a settlement writes after it.
  await lockAccount(tx, key.accountId)
  const { last_used_at: _, ...row } = fromKey(key)
  const columns = Object.keys(row).filter((name) => name !== 'id')
  await tx.run(
    `UPDATE keys SET ${columns.map((name) => `${name} = $${name}`).join(', ')} WHERE id = $id`,
    row,
  )
  await tx.run('UPDATE key_state SET mark_day = 0, mark_month = 0 WHERE key_id = ?', key.id)
  await tx.run('UPDATE end_user_days SET mark = 0 WHERE key_id = ? AND mark <> 0', key.id)
}

async function keepSecret(
  tx: Sql,
  secret: Secret,
  { id, label }: Pick<ApiKey, 'id' | 'label'>,
  at: Instant,
): Promise<void> {
  await tx.run(
    'INSERT INTO key_secrets (sha256, key_id, label, created_at) VALUES (?, ?, ?, ?)',
    toDigest(secret),
    id,
    label,
    at,
  )
}

async function requireOpen(tx: Sql, id: AccountId): Promise<void> {
  const row = await tx.get<{ name: string; closed_at: Instant | null }>(
    'SELECT name, closed_at FROM accounts WHERE id = ?',
    id,
  )
  if (row === null) throw new GatewayError('account_not_found', `there is no account ${id}`)
  if (row.closed_at !== null) throw accountClosed(row)
}
