/** Keys. How a request finds its key is each engine's own. */
import { accountClosed, accountNotFound } from '#domain/account.ts'
import type { Amended } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { type ApiKey, amendKey, type KeyQuery, type Keys, keyNotFound } from '#domain/key.ts'
import { describeAmendment } from '#domain/key-report.ts'
import { labelOf, type Secret } from '#domain/secret.ts'
import { noteAct } from '../log/acts.ts'
import { type FoundKeyRow, fromKey, toKey } from '../rows/key-row.ts'
import { BEHIND_ALL } from '../rows/slice.ts'
import {
  all,
  type Engine,
  get,
  type Named,
  readSettled,
  run,
  type Statements,
} from '../statements.ts'

/** What each engine has of its own. */
export interface KeysOf extends Pick<Keys, 'findBySecret' | 'noteUse'> {
  /** Keys with the limits of their accounts. */
  readonly select: string
  /** The ids of the JSON array `$ids`, as a statement that selects them. */
  readonly ids: string
  count(query: KeyQuery): Statements<number>
  /** Whatever stands beside the row of a new key. */
  open(key: ApiKey): Statements<unknown>
  /** All that it has spent stays behind with its account. */
  leave(key: ApiKey, to: AccountId): Statements<unknown>
  /** Before any row that a settlement writes: its marks are found out again, by whatever limits it has then. */
  forget(key: ApiKey): Statements<unknown>
  /** As it is now, where a row is written later. */
  seen(key: ApiKey): ApiKey
  /** In the turn of the commit, for whoever has keys in memory; `before` is null for a new one. */
  changed(before: ApiKey | null, after: ApiKey): void
}

export const toDigest = (token: string): Buffer =>
  Buffer.from(Bun.SHA256.hash(token, 'base64'), 'base64')

export const createKeys = (engine: Engine, of: KeysOf): Keys => ({
  findBySecret: of.findBySecret,
  noteUse: of.noteUse,
  ...findKeys(engine, of),
  ...changeKeys(engine, of),
})

function* selectKeys(of: KeysOf, rest: string, bindings: Named): Statements<readonly ApiKey[]> {
  const rows = yield* all<FoundKeyRow>(`${of.select} WHERE ${rest}`, bindings)
  return rows.map((row) => of.seen(toKey(row)))
}

function* findKey(of: KeysOf, id: KeyId): Statements<ApiKey | undefined> {
  const [key] = yield* selectKeys(of, 'keys.id = $id', { id })
  return key
}

/** Spelled out and not left to a binding, so that an index has it. */
const ofAccount = (accountId: AccountId | undefined): string =>
  accountId === undefined ? '' : 'AND keys.account_id = $accountId'

export const inScope = ({ accountId, includeRevoked }: KeyQuery): string =>
  `${includeRevoked ? 'TRUE' : 'revoked_at IS NULL'} ${ofAccount(accountId)}`

type Finding = Pick<Keys, 'find' | 'current' | 'findMany' | 'search' | 'list' | 'isNamed'>

const findKeys = (engine: Engine, of: KeysOf): Finding => ({
  find: (id) => readSettled(engine, () => findKey(of, id)),

  // A change of it is committed before anybody is answered.
  current: (id) => engine.read(() => findKey(of, id)),

  async findMany(ids) {
    const found = await readSettled(engine, () =>
      selectKeys(of, `keys.id IN (${of.ids})`, { ids: JSON.stringify(ids) }),
    )
    const byId = new Map(found.map((key) => [key.id, key]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  },

  // Compared as text, not as a pattern: `%` and `_` are letters here, and an empty text means nobody.
  search: (text, limit, accountId) =>
    readSettled(engine, () =>
      selectKeys(
        of,
        `(keys.id = $text OR keys.name = $text OR (CAST($text AS text) <> '' AND substr(label, 1, length($text)) = $text))
           ${ofAccount(accountId)} ORDER BY keys.id DESC LIMIT $limit`,
        { text, limit, accountId },
      ),
    ),

  list: (query) =>
    readSettled(engine, function* () {
      const { accountId, after = BEHIND_ALL, limit } = query
      const keys = yield* selectKeys(
        of,
        `keys.id < $after AND ${inScope(query)} ORDER BY keys.id DESC LIMIT $limit`,
        { after, accountId, limit: limit + 1 },
      )
      const totalCount = yield* of.count(query)
      return { keys: keys.slice(0, limit), hasMore: keys.length > limit, totalCount }
    }),

  async isNamed(name, accountId) {
    const row = await readSettled(engine, () =>
      get(
        `SELECT 1 FROM keys WHERE name = $name AND revoked_at IS NULL ${ofAccount(accountId)} LIMIT 1`,
        { name, accountId },
      ),
    )
    return row !== null
  },
})

function changeKeys(
  engine: Engine,
  of: KeysOf,
): Omit<Keys, keyof Finding | 'findBySecret' | 'noteUse'> {
  function* requireKey(id: KeyId): Statements<ApiKey> {
    const key = yield* findKey(of, id)
    if (key) return key
    throw keyNotFound(id)
  }
  function* requireUnrevoked(id: KeyId): Statements<ApiKey> {
    const key = yield* requireKey(id)
    if (key.revokedAt === null) return key
    throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
  }
  /** All but its last use, which requests write. */
  function* update(key: ApiKey): Statements<ApiKey> {
    yield* of.forget(key)
    const { last_used_at: _, ...row } = fromKey(key)
    const columns = Object.keys(row).filter((name) => name !== 'id')
    const set = columns.map((name) => `${name} = $${name}`).join(', ')
    yield* run(`UPDATE keys SET ${set} WHERE id = $id`, row)
    return key
  }
  const change = (statements: () => Statements<Amended<ApiKey>>): Promise<Amended<ApiKey>> =>
    engine.change(statements, ({ before, after }) => of.changed(before, after))

  return {
    issue: (key, secret, act, isFirst = false) =>
      engine.change(
        function* () {
          if (isFirst) yield* requireNone()
          yield* requireOpen(key.accountId)
          yield* noteAct(act)
          const row = fromKey(key)
          const columns = Object.keys(row)
          yield* run(
            `INSERT INTO keys (${columns.join(', ')}) VALUES ($${columns.join(', $')})`,
            row,
          )
          yield* of.open(key)
          yield* keepSecret(secret, key, key.createdAt)
        },
        () => of.changed(null, key),
      ),

    amend: (id, amendment, act) =>
      change(function* () {
        const before = yield* requireUnrevoked(id)
        const amended = { before, after: yield* update(amendKey(before, amendment, act.at)) }
        yield* noteAct(act, describeAmendment(amended))
        return amended
      }),

    move: (id, accountId, act) =>
      change(function* () {
        const before = yield* requireUnrevoked(id)
        yield* requireOpen(accountId)
        if (accountId !== before.accountId) yield* of.leave(before, accountId)
        yield* update({ ...before, accountId, updatedAt: act.at })
        yield* noteAct(act)
        // Read again: its account's limits are others.
        return { before, after: yield* requireKey(id) }
      }),

    async rotate(id, secret, graceUntil, act) {
      const { at } = act
      const { after } = await change(function* () {
        yield* noteAct(act)
        const before = yield* requireUnrevoked(id)
        yield* run(
          `UPDATE key_secrets SET expires_at = $until
           WHERE key_id = $id AND (expires_at IS NULL OR expires_at > $until)`,
          { id, until: graceUntil ?? at },
        )
        const after = { ...before, label: labelOf(secret), updatedAt: at }
        yield* keepSecret(secret, after, at)
        return { before, after: yield* update(after) }
      })
      return after
    },

    // A secret leads to the key alone, also where it is known in memory, and the key is looked at for each request.
    async revoke(id, act, accountId) {
      const { at } = act
      const { after } = await change(function* () {
        const before = yield* requireKey(id)
        const isMoved = accountId !== undefined && before.accountId !== accountId
        if (isMoved || before.revokedAt !== null) return { before, after: before }
        yield* noteAct(act)
        return { before, after: yield* update({ ...before, revokedAt: at, updatedAt: at }) }
      })
      return after
    },
  }
}

const keepSecret = (secret: Secret, { id, label }: ApiKey, at: Instant): Statements<number> =>
  run(
    'INSERT INTO key_secrets (sha256, key_id, label, created_at) VALUES ($digest, $id, $label, $at)',
    { digest: toDigest(secret), id, label, at },
  )

/** Another node that is initialised at the same moment may have made the first one. @throws already_exists */
function* requireNone(): Statements<void> {
  const row = yield* get('SELECT 1 FROM keys LIMIT 1', {})
  if (row !== null) throw new GatewayError('already_exists', 'there is a key already')
}

/** An account that may get keys. @throws account_not_found, account_closed */
function* requireOpen(id: AccountId): Statements<void> {
  const row = yield* get<{ name: string; closed_at: Instant | null }>(
    'SELECT name, closed_at FROM accounts WHERE id = $id',
    { id },
  )
  if (row === null) throw accountNotFound(id)
  if (row.closed_at !== null) throw accountClosed(row)
}
