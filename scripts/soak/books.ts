/** What the books must say after every life: each answered request charged exactly once, no hold left, every top-up there. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Findings } from './findings.ts'
import { IN_USD, OUT_USD, type SoakRig } from './rig.ts'
import { ANSWER_TOKENS, PROMPT_TOKENS } from './wires.ts'

/** Of one answer that its upstream counted: tokens times dollars per million are micro-dollars. */
const COST_NANOS = (PROMPT_TOKENS * IN_USD + ANSWER_TOKENS * OUT_USD) * 1_000

export interface Books {
  /** In the ledger. */
  readonly charges: number
  readonly lost: number
  readonly doubled: number
  /** Charged, but not what the upstream counted. */
  readonly wrong: number
  readonly openHolds: number
  readonly lostTopUps: number
}

/** Reads beside whoever has the database open. Holds are meant to be none only where nothing is in progress. */
function readBooks({ dataDir }: SoakRig, { answers, topUps }: Findings): Books {
  const database = new Database(join(dataDir, 'gateway.db'), { readonly: true, strict: true })
  try {
    const charges = database
      .query<{ id: string; nanos: number; n: number }, []>(
        `SELECT generation_id AS id, -sum(amount_nanos) AS nanos, count(*) AS n
         FROM ledger WHERE kind = 'charge' GROUP BY generation_id`,
      )
      .all()
    const byId = new Map(charges.map((charge) => [charge.id, charge]))
    const charged = [...answers].filter(([id]) => byId.has(id))
    const refs = new Map(
      database
        .query<{ ref: string; n: number }, []>(
          'SELECT ref, count(*) AS n FROM ledger WHERE ref IS NOT NULL GROUP BY ref',
        )
        .all()
        .map(({ ref, n }) => [ref, n]),
    )
    const holds = database.query<{ n: number }, []>('SELECT count(*) AS n FROM holds').get()
    return {
      charges: charges.length,
      lost: answers.size - charged.length,
      doubled: charges.filter(({ n }) => n > 1).length,
      wrong: charged.filter(([id, isCounted]) => isCounted && byId.get(id)?.nanos !== COST_NANOS)
        .length,
      openHolds: holds?.n ?? -1,
      lostTopUps: [...topUps].filter((ref) => refs.get(ref) !== 1).length,
    }
  } finally {
    database.close()
  }
}

/** Notes what is not as it must be. */
export function checkBooks(rig: SoakRig, findings: Findings, when: string): Books {
  const books = readBooks(rig, findings)
  const { lost, doubled, wrong, openHolds, lostTopUps } = books
  for (const [what, number] of Object.entries({
    'charges of answered requests lost': lost,
    'charges doubled': doubled,
    'charges of another amount': wrong,
    'holds left open': openHolds,
    'top-ups lost or doubled': lostTopUps,
  })) {
    if (number > 0) findings.violation(`${when}: ${number} ${what}`)
  }
  return books
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
