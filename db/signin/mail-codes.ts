/** Mail codes: the statement that looks a code up also counts the attempt, so that concurrent attempts all count. */
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
import { requireVault } from '../require-vault.ts'
import { all, count, type Engine, get, type Named, run, type Statements } from '../statements.ts'
import { addMail, dropMail, type SealedMail, sealMail } from './code-mails.ts'

interface CodeRow {
  readonly email: string
  readonly hmac: string
  readonly attempts: number
  readonly expires_at: Instant
  readonly used_at: Instant | null
}

const TO_EMAIL = 'AND email_key = $key'
/** A range of them. */
const FROM_PEERS = 'AND peer BETWEEN $first AND $last'

const exactly = (peer: string) => ({ first: peer, last: peer })

const beginningWith = (site: string) => ({ first: site, last: `${site}\uffff` })

/** When the oldest counted code leaves the window; null if there is room. */
function* nextBy(
  { most, withinMs }: Bound,
  at: Instant,
  which: string,
  bindings: Named,
): Statements<number | null> {
  const counted = yield* all<{ at: Instant }>(
    `SELECT at FROM mail_code_counts WHERE at > $since AND at < $until ${which} ORDER BY at DESC LIMIT $most`,
    // Entries further in the future were recorded before the clock was set back.
    { ...bindings, since: later(at, -withinMs), until: later(at, withinMs), most },
  )
  const oldest = counted.at(-1)
  return oldest === undefined || counted.length < most ? null : oldest.at + withinMs
}

/** When the next code may be issued; null if it may now. */
function* nextOf(
  { peer, site, issuedAt: at }: MailCode,
  { perPair, network }: MailCodeBounds,
  key: string,
): Statements<Instant | null> {
  const whole = site === null ? exactly(peer) : beginningWith(site)
  const isFlooded =
    network !== null && (yield* nextBy(network.perEmail, at, TO_EMAIL, { key })) !== null
  const ofPair = isFlooded ? network.reserve : perPair
  const full = [
    yield* nextBy(ofPair, at, `${TO_EMAIL} ${FROM_PEERS}`, { ...whole, key }),
    network && (yield* nextBy(network.perPeer, at, FROM_PEERS, exactly(peer))),
    network && (yield* nextBy(network.perSite, at, FROM_PEERS, whole)),
  ].filter((next) => next !== null)
  return full.length === 0 ? null : instant(Math.max(...full))
}

function* issue(
  code: MailCode,
  bounds: MailCodeBounds,
  mail: SealedMail | null,
): Statements<IssueVerdict> {
  const { interaction, email, digest, peer, issuedAt: at, expiresAt } = code
  const key = emailKey(email)
  const next = yield* nextOf(code, bounds, key)
  if (next !== null) return { isIssued: false, nextAt: next }
  yield* run('INSERT INTO mail_code_counts (email_key, peer, at) VALUES ($key, $peer, $at)', {
    key,
    peer,
    at,
  })
  yield* dropCode(interaction)
  yield* run(
    'INSERT INTO mail_codes (interaction, email, hmac, expires_at) VALUES ($interaction, $email, $digest, $expiresAt)',
    { interaction, email, digest, expiresAt },
  )
  yield* mail === null ? dropMail(interaction) : addMail(mail)
  const since = later(at, -bounds.lookbackMs)
  return { isIssued: true, lately: yield* count('mail_code_counts WHERE at > $since', { since }) }
}

const dropCode = (interaction: string): Statements<number> =>
  run('DELETE FROM mail_codes WHERE interaction = $interaction', { interaction })

const findCode = (interaction: string): Statements<CodeRow | null> =>
  get('SELECT * FROM mail_codes WHERE interaction = $interaction', { interaction })

function* redeem(interaction: string, digest: string, at: Instant): Statements<Redemption> {
  const row = yield* get<CodeRow>(
    `UPDATE mail_codes SET attempts = attempts + 1
     WHERE interaction = $interaction AND attempts < ${MAX_ATTEMPTS} AND used_at IS NULL AND expires_at > $at
     RETURNING *`,
    { interaction, at },
  )
  if (row === null) {
    const left = yield* findCode(interaction)
    const isOver = left === null || left.used_at !== null || left.expires_at <= at
    return { verdict: isOver ? 'expired' : 'spent' }
  }
  if (!sameDigest(row.hmac, digest)) {
    const attemptsLeft = MAX_ATTEMPTS - row.attempts
    return attemptsLeft > 0 ? { verdict: 'wrong', attemptsLeft } : { verdict: 'spent' }
  }
  yield* run('UPDATE mail_codes SET used_at = $at WHERE interaction = $interaction', {
    interaction,
    at,
  })
  return { verdict: 'right', email: row.email }
}

export const createMailCodes = (engine: Engine): MailCodes => ({
  async issue(code, bounds, mail) {
    const { interaction, issuedAt: at, expiresAt } = code
    const sealed = mail && {
      interaction,
      id: mail.id,
      sealed: sealMail(requireVault(engine), mail.id, mail.mail),
      at,
      expiresAt,
    }
    return await engine.change(() => issue(code, bounds, sealed))
  },
  issuedTo: (email, since) =>
    engine.read(() =>
      count(`mail_code_counts WHERE at > $since ${TO_EMAIL}`, { since, key: emailKey(email) }),
    ),
  async pending(interaction) {
    const row = await engine.read(() => findCode(interaction))
    if (row === null) return undefined
    const { email, attempts, expires_at: expiresAt, used_at: usedAt } = row
    return { email, attemptsLeft: MAX_ATTEMPTS - attempts, expiresAt, isUsed: usedAt !== null }
  },
  redeem: (interaction, digest, at) => engine.change(() => redeem(interaction, digest, at)),
  drop: (interaction) =>
    engine.write(function* () {
      yield* dropCode(interaction)
      yield* dropMail(interaction)
    }),
  sweep: (before, limit) =>
    engine.write(function* () {
      let left = limit
      for (const [table, key, since] of SWEPT) {
        left -= yield* run(
          `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${since} < $before LIMIT $left)`,
          { before, left },
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
