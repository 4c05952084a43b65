/** Mail codes in SQLite: the statement that looks a code up also counts the attempt, so that concurrent attempts all count. */
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
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareAddMail, prepareDropMail } from './code-mails.ts'

export function createMailCodes(connection: Connection): MailCodes {
  const { database, commit } = connection
  const table = prepare(database)
  const addMail = prepareAddMail(database)
  const dropMail = prepareDropMail(database)

  /** When the next code may be issued; null if it may now. */
  const nextOf = (
    { peer, site, issuedAt: at }: MailCode,
    { perPair, network }: MailCodeBounds,
    key: string,
  ): Instant | null => {
    const whole = site === null ? exactly(peer) : beginningWith(site)
    const toEmail = (bound: Bound) =>
      nextAt(bound, at, (counted) => table.ofEmail().all({ ...counted, key }))
    const fromPeers = (bound: Bound, peers: Peers) =>
      nextAt(bound, at, (counted) => table.ofPeers().all({ ...counted, ...peers }))
    const ofPair = (bound: Bound) =>
      nextAt(bound, at, (counted) => table.ofPair().all({ ...counted, ...whole, key }))
    const isFlooded = network !== null && toEmail(network.perEmail) !== null
    const full = [
      ofPair(isFlooded ? network.reserve : perPair),
      network && fromPeers(network.perPeer, exactly(peer)),
      network && fromPeers(network.perSite, whole),
    ].filter((next) => next !== null)
    return full.length === 0 ? null : instant(Math.max(...full))
  }

  const issue = (code: MailCode, bounds: MailCodeBounds, mail: SealedMail | null): IssueVerdict => {
    const [key, at] = [emailKey(code.email), code.issuedAt]
    const next = nextOf(code, bounds, key)
    if (next !== null) return { isIssued: false, nextAt: next }
    table.count().run({ key, peer: code.peer, at })
    const { interaction, email, digest, expiresAt } = code
    table.put().run({ interaction, email, digest, expiresAt })
    if (mail === null) dropMail(interaction)
    else addMail(mail)
    const since = later(at, -bounds.lookbackMs)
    return { isIssued: true, lately: table.countAll().get(since)?.n ?? 0 }
  }

  const redeem = (interaction: string, digest: string, at: Instant): Redemption => {
    const row = table.take().get({ interaction, at })
    if (row === null) {
      const left = table.find().get(interaction)
      const isOver = left === null || left.used_at !== null || left.expires_at <= at
      return { verdict: isOver ? 'expired' : 'spent' }
    }
    if (!sameDigest(row.hmac, digest)) {
      const attemptsLeft = MAX_ATTEMPTS - row.attempts
      return attemptsLeft > 0 ? { verdict: 'wrong', attemptsLeft } : { verdict: 'spent' }
    }
    table.use().run({ interaction, at })
    return { verdict: 'right', email: row.email }
  }

  return {
    issue(code, bounds, mail) {
      const sealed = mail && sealCodeMail(requireVault(connection), code, mail)
      return commit.commitDurably(() => issue(code, bounds, sealed))
    },
    async issuedTo(email, since) {
      commit.flush()
      return table.countOfEmail().get({ key: emailKey(email), since })?.n ?? 0
    },
    async pending(interaction) {
      commit.flush()
      const row = table.find().get(interaction)
      if (row === null) return undefined
      const { email, attempts, expires_at: expiresAt, used_at: usedAt } = row
      return { email, attemptsLeft: MAX_ATTEMPTS - attempts, expiresAt, isUsed: usedAt !== null }
    },
    redeem: (interaction, digest, at) =>
      commit.commitDurably(() => redeem(interaction, digest, at)),
    drop: (interaction) =>
      commit.enqueue(() => {
        table.drop().run(interaction)
        dropMail(interaction)
      }),
    sweep: (before, limit) =>
      commit.enqueue(() => {
        let left = limit
        for (const sweep of [table.sweepCodes(), table.sweepMails(), table.sweepCounts()]) {
          left -= sweep.run(before, left).changes
        }
        return limit - left
      }),
  }
}

function prepare(database: Connection['database']) {
  const counted = (which: string) =>
    statement<{ at: Instant }, [Named & Lookback]>(
      database,
      `SELECT at FROM mail_code_counts WHERE at > $since AND at < $until ${which} ORDER BY at DESC LIMIT $most`,
    )
  const swept = (table: string, key: string, since: string) =>
    statement<unknown, [Instant, number]>(
      database,
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${since} < ? LIMIT ?)`,
    )
  return {
    ofEmail: counted('AND email_key = $key'),
    ofPeers: counted('AND peer BETWEEN $first AND $last'),
    ofPair: counted('AND email_key = $key AND peer BETWEEN $first AND $last'),
    countOfEmail: statement<{ n: number }, [{ key: string; since: Instant }]>(
      database,
      'SELECT count(*) AS n FROM mail_code_counts WHERE email_key = $key AND at > $since',
    ),
    countAll: statement<{ n: number }, [Instant]>(
      database,
      'SELECT count(*) AS n FROM mail_code_counts WHERE at > ?',
    ),
    count: statement<unknown, [{ key: string; peer: string; at: Instant }]>(
      database,
      'INSERT INTO mail_code_counts (email_key, peer, at) VALUES ($key, $peer, $at)',
    ),
    put: statement<unknown, [Named]>(
      database,
      `REPLACE INTO mail_codes (interaction, email, hmac, expires_at)
       VALUES ($interaction, $email, $digest, $expiresAt)`,
    ),
    find: statement<CodeRow, [string]>(database, 'SELECT * FROM mail_codes WHERE interaction = ?'),
    take: statement<CodeRow, [{ interaction: string; at: Instant }]>(
      database,
      `UPDATE mail_codes SET attempts = attempts + 1
       WHERE interaction = $interaction AND attempts < ${MAX_ATTEMPTS} AND used_at IS NULL AND expires_at > $at
       RETURNING *`,
    ),
    use: statement<unknown, [{ interaction: string; at: Instant }]>(
      database,
      'UPDATE mail_codes SET used_at = $at WHERE interaction = $interaction',
    ),
    drop: statement<unknown, [string]>(database, 'DELETE FROM mail_codes WHERE interaction = ?'),
    sweepCodes: swept('mail_codes', 'interaction', 'expires_at'),
    sweepMails: swept('code_mails', 'interaction', 'expires_at'),
    sweepCounts: swept('mail_code_counts', 'rowid', 'at'),
  }
}
