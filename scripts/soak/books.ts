/** What the books must say after every life: each answered request charged exactly once, no hold left, every top-up there. */
import type { Findings } from './findings.ts'
import { IN_USD, OUT_USD, type SoakRig } from './rig.ts'
import { ANSWER_TOKENS, PROMPT_TOKENS } from './wires.ts'

/** Of one answer that its upstream counted: tokens times dollars per million are micro-dollars. */
export const COST_NANOS = (PROMPT_TOKENS * IN_USD + ANSWER_TOKENS * OUT_USD) * 1_000

export interface Books {
  /** In the ledger. */
  readonly charges: number
  readonly lost: readonly string[]
  readonly doubled: number
  /** Charged, but not what the upstream counted. */
  readonly wrong: number
  readonly openHolds: number
  readonly lostTopUps: number
}

/** Holds are meant to be none only where nothing is in progress. */
async function readBooks(
  { query, openHolds }: SoakRig,
  { answers, topUps }: Findings,
): Promise<Books> {
  // The operator of nodes tops up while the books are read.
  const toldTopUps = [...topUps]
  const charges = await query<{ id: string; nanos: number; n: number }>(
    `SELECT generation_id AS id, CAST(-sum(amount_nanos) AS bigint) AS nanos, CAST(count(*) AS bigint) AS n
     FROM ledger WHERE kind = 'charge' GROUP BY generation_id`,
  )
  const byId = new Map(charges.map((charge) => [charge.id, charge]))
  const charged = [...answers].filter(([id]) => byId.has(id))
  const lost = [...answers.keys()].filter((id) => !byId.has(id))
  const credits = await query<{ ref: string; n: number }>(
    'SELECT ref, count(*) AS n FROM ledger WHERE ref IS NOT NULL GROUP BY ref',
  )
  const refs = new Map(credits.map(({ ref, n }) => [ref, Number(n)]))
  const isOther = ([id, isCounted]: readonly [string, boolean]): boolean =>
    isCounted && Number(byId.get(id)?.nanos) !== COST_NANOS
  return {
    charges: charges.length,
    lost,
    doubled: charges.filter(({ n }) => Number(n) > 1).length,
    wrong: charged.filter(isOther).length,
    openHolds: await openHolds(),
    lostTopUps: toldTopUps.filter((ref) => refs.get(ref) !== 1).length,
  }
}

const MOST_TOLD = 3

/** How the log says that these have ended, as far as they are told of. */
async function tellLost({ query }: SoakRig, lost: readonly string[]): Promise<string> {
  const told = lost.slice(0, MOST_TOLD)
  if (told.length === 0) return ''
  const ends = await query<{ id: string; said: string }>(
    `SELECT generation_id AS id, status || ' ' || ended_by || ' ' || coalesce(code, '') AS said
     FROM activity WHERE generation_id IN (${told.map((id) => `'${id}'`).join()})`,
  )
  const said = new Map(ends.map((end) => [end.id, end.said]))
  return told.map((id) => `${id}: ${said.get(id) ?? 'not in the log'}`).join()
}

/** Notes what is not as it must be. */
export async function checkBooks(rig: SoakRig, findings: Findings, when: string): Promise<Books> {
  const books = await readBooks(rig, findings)
  const { lost, doubled, wrong, openHolds, lostTopUps } = books
  for (const [what, number] of Object.entries({
    [`charges of answered requests lost (${await tellLost(rig, lost)})`]: lost.length,
    'charges doubled': doubled,
    'charges of another amount': wrong,
    'holds left open': openHolds,
    'top-ups lost or doubled': lostTopUps,
  })) {
    if (number > 0) findings.violation(`${when}: ${number} ${what}`)
  }
  return books
}

/** What was admitted so shortly before midnight may be charged to either day: its claim may have come to the store after it. */
const LATE_CLAIM_MS = 2_000
const DAY_MS = 86_400_000

/**
 * Where nodes share the store, whatever day it is: each charge is on the day of its admission, by which the sums of keys go.
 */
export async function checkDays(
  { query }: SoakRig,
  findings: Findings,
  when: string,
): Promise<void> {
  const wrongDays = await query<{ id: string; said: string }>(
    `SELECT l.generation_id AS id, format('on %s, admitted at %s', l.day, a.admitted_at) AS said
     FROM ledger l JOIN activity a USING (generation_id)
     WHERE l.kind = 'charge' AND l.day NOT IN (a.admitted_at / ${DAY_MS}, (a.admitted_at + ${LATE_CLAIM_MS}) / ${DAY_MS})`,
  )
  for (const { id, said } of wrongDays.slice(0, MOST_TOLD))
    findings.violation(`${when}: ${id} is charged ${said}`)
  const wrongSums = await query<{ key: string; day: number; kept: number; charged: number }>(
    `SELECT key_id AS key, day, coalesce(k.nanos, 0) AS kept, coalesce(l.nanos, 0) AS charged
     FROM (SELECT key_id, day, spent_nanos AS nanos FROM key_days) k
     FULL JOIN (SELECT key_id, day, CAST(-sum(amount_nanos) AS bigint) AS nanos FROM ledger WHERE kind = 'charge' GROUP BY 1, 2) l
       USING (key_id, day) WHERE coalesce(k.nanos, 0) <> coalesce(l.nanos, 0)`,
  )
  for (const { key, day, kept, charged } of wrongSums.slice(0, MOST_TOLD))
    findings.violation(`${when}: ${key} has spent ${kept} on ${day}, by the ledger ${charged}`)
}

/** The gateway's own audit, with it running or not. */
export async function checkAudit(
  { type }: SoakRig,
  findings: Findings,
  when: string,
): Promise<boolean> {
  const { code, out, err } = await type('audit', '--json')
  if (code !== 0) findings.violation(`${when}: audit exited ${code}: ${err || out}`)
  return code === 0
}
