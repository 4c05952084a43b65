/** Two keys whose last slot, and last money, many ask for while something happens. */
import { COST_NANOS } from './books.ts'
import { startChance } from './chance.ts'
import { type Field, post, QUICK } from './field.ts'
import type { PrintedKey } from './keys.ts'
import type { SoakNode } from './node.ts'

export const RACERS = 8
const RACER_PAUSE_MS = 600
const RACED_REQUESTS = 60
const RACED_ANSWERS = 50

export async function issueRaced({ rig }: Field) {
  const issue = (name: string, ...limit: readonly string[]) =>
    rig.ask<PrintedKey>('keys', 'create', name, ...limit)
  const usd = ((RACED_ANSWERS * COST_NANOS) / 1e9).toFixed(6)
  const slots = await issue('slots', '--rpd', String(RACED_REQUESTS))
  return { slots, money: await issue('money', '--daily-usd', usd), usd }
}

/** Ends when it is over, and what was asked is answered. */
export async function race(
  { rig, findings }: Field,
  { slots, money, usd }: Awaited<ReturnType<typeof issueRaced>>,
  { next, isOver, seed }: { next: () => SoakNode | undefined; isOver: () => boolean; seed: number },
): Promise<void> {
  const told = { slots: 0 }
  const ask = async (key: PrintedKey): Promise<void> => {
    const node = next()
    if (node === undefined) return
    try {
      const response = await post(node, key.key, QUICK)
      await response.text()
      if (response.status === 200 && key === slots) told.slots++
    } catch {
      // Its node was killed.
    }
  }
  await Promise.all(
    Array.from({ length: RACERS }, async (_, nth) => {
      const chance = startChance(seed + nth)
      while (!isOver()) {
        await Bun.sleep(chance.between(0, 2 * RACER_PAUSE_MS))
        await ask(nth % 2 ? slots : money)
      }
    }),
  )
  // Midnight may have passed.
  const [row] = await rig.query<{ slots: number; nanos: number }>(
    `SELECT (SELECT count(*) FROM slots WHERE key_id = '${slots.id}') AS slots,
       (SELECT max(spent_nanos) FROM key_days WHERE key_id = '${money.id}') AS nanos`,
  )
  const [taken, spent] = [Number(row?.slots), Number(row?.nanos)]
  if (told.slots > RACED_REQUESTS || taken > RACED_REQUESTS)
    findings.violation(`${told.slots} answers, ${taken} slots of ${RACED_REQUESTS}`)
  if (spent > (RACED_ANSWERS + 1) * COST_NANOS)
    findings.violation(`${spent} nano-dollars spent on a day of $${usd}`)
  if (taken === RACED_REQUESTS) findings.count('last slots taken')
  if (spent >= RACED_ANSWERS * COST_NANOS) findings.count('last money spent')
}
