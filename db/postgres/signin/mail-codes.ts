/** Mail codes in PostgreSQL: the statement that looks a code up also counts the attempt, so that concurrent attempts all count. */
import { type Instant, instant, later } from '#domain/clock.ts'
import { sameDigest } from '#signin/register/digest.ts'
import { emailKey } from '#signin/register/email.ts'
import {
  type Bound,
  type IssueVerdict,
  MAX_ATTEMPTS,
  type MailCode,
  type MailCodeBounds,
  type MailCodes,
  type Redemption,
} from '#signin/register/mail-code.ts'
import { requireVault } from '../../require-vault.ts'
import type { SealedMail } from '../../rows/code-mail-row.ts'
import {
  beginningWith,
  type CodeRow,
  exactly,
  type Lookback,
  nextAt,
  type Peers,
  sealCodeMail,
} from '../../rows/mail-code-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { addMail, dropMail } from './code-mails.ts'

/** When the next code may be issued; null if it may now. */
async function nextOf(
  tx: Sql,
  { peer, site, issuedAt: at }: MailCode,
  { perPair, network }: MailCodeBounds,
  key: string,
): Promise<Instant | null> {
  const nextBy = async (bound: Bound, which: string, by: Partial<Peers>) => {
    let lookback: Lookback | null = null
    nextAt(bound, at, (counted) => {
      lookback = counted
      return []
    })
    const rows = await tx.all<{ at: Instant }>(
      `SELECT at FROM mail_code_counts WHERE at > $since AND at < $until ${which} ORDER BY at DESC LIMIT $most`,
      { ...(lookback as Lookback | null), key, ...by },
    )
    return nextAt(bound, at, () => rows)
  }
  const whole = site === null ? exactly(peer) : beginningWith(site)
  const BY_EMAIL = 'AND email_key = $key'
  const BY_PEERS = 'AND peer BETWEEN $first AND $last'
  const isFlooded = network !== null && (await nextBy(network.perEmail, BY_EMAIL, {})) !== null
  const full = [
    await nextBy(isFlooded ? network.reserve : perPair, `${BY_EMAIL} ${BY_PEERS}`, whole),
    network && (await nextBy(network.perPeer, BY_PEERS, exactly(peer))),
    network && (await nextBy(network.perSite, BY_PEERS, whole)),
  ].filter((next) => next !== null)
  return full.length === 0 ? null : instant(Math.max(...full))
}

async function issue(
  tx: Sql,
  code: MailCode,
  bounds: MailCodeBounds,
  mail: SealedMail | null,
): Promise<IssueVerdict> {
  const [key, at] = [emailKey(code.email), code.issuedAt]
  const next = await nextOf(tx, code, bounds, key)
  if (next !== null) return { isIssued: false, nextAt: next }
  await tx.run(
    'INSERT INTO mail_code_counts (email_key, peer, at) VALUES (?, ?, ?)',
    key,
    code.peer,
    at,
  )
  const { interaction, email, digest, expiresAt } = code
  await tx.run('DELETE FROM mail_codes WHERE interaction = ?', interaction)
  await tx.run(
    'INSERT INTO mail_codes (interaction, email, hmac, expires_at) VALUES ($interaction, $email, $digest, $expiresAt)',
    { interaction, email, digest, expiresAt },
  )
  if (mail === null) await dropMail(tx, interaction)
  else await addMail(tx, mail)
  return { isIssued: true, lately: await countSince(tx, '', later(at, -bounds.lookbackMs)) }
}

async function countSince(sql: Sql, which: string, since: Instant, key = ''): Promise<number> {
  const row = await sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM mail_code_counts WHERE at > $since ${which}`,
    { since, key },
  )
  return row?.n ?? 0
}

const findCode = (sql: Sql, interaction: string): Promise<CodeRow | null> =>
  sql.get<CodeRow>('SELECT * FROM mail_codes WHERE interaction = ?', interaction)

async function redeem(
  tx: Sql,
  interaction: string,
  digest: string,
  at: Instant,
): Promise<Redemption> {
  const row = await tx.get<CodeRow>(
    `UPDATE mail_codes SET attempts = attempts + 1
     WHERE interaction = $interaction AND attempts < ${MAX_ATTEMPTS} AND used_at IS NULL AND expires_at > $at
     RETURNING *`,
    { interaction, at },
  )
  if (row === null) {
    const left = await findCode(tx, interaction)
    const isOver = left === null || left.used_at !== null || left.expires_at <= at
    return { verdict: isOver ? 'expired' : 'spent' }
  }
  if (!sameDigest(row.hmac, digest)) {
    const attemptsLeft = MAX_ATTEMPTS - row.attempts
    return attemptsLeft > 0 ? { verdict: 'wrong', attemptsLeft } : { verdict: 'spent' }
  }
  await tx.run('UPDATE mail_codes SET used_at = ? WHERE interaction = ?', at, interaction)
  return { verdict: 'right', email: row.email }
}

export const createMailCodes = (database: Database): MailCodes => ({
  async issue(code, bounds, mail) {
    const sealed = mail && sealCodeMail(requireVault(database), code, mail)
    return await database.change((tx) => issue(tx, code, bounds, sealed))
  },
  issuedTo: (email, since) => countSince(database, 'AND email_key = $key', since, emailKey(email)),
  async pending(interaction) {
    const row = await findCode(database, interaction)
    if (row === null) return undefined
    const { email, attempts, expires_at: expiresAt, used_at: usedAt } = row
    return { email, attemptsLeft: MAX_ATTEMPTS - attempts, expiresAt, isUsed: usedAt !== null }
  },
  redeem: (interaction, digest, at) => database.change((tx) => redeem(tx, interaction, digest, at)),
  drop: (interaction) =>
    database.transact(async (tx) => {
      await tx.run('DELETE FROM mail_codes WHERE interaction = ?', interaction)
      await dropMail(tx, interaction)
    }),
  sweep: (before, limit) =>
    database.transact(async (tx) => {
      let left = limit
      for (const [table, key, since] of SWEPT) {
        left -= await tx.run(
          `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${since} < ? LIMIT ?)`,
          before,
          left,
        )
      }
      return limit - left
    }),
})

const SWEPT = [
  ['mail_codes', 'interaction', 'expires_at'],
  ['code_mails', 'interaction', 'expires_at'],
  ['mail_code_counts', 'n', 'at'],
] as const
