/** `kill -9`, again and again, each while answers are on their way; after each start the books are read. */
import { checkAudit, checkBooks } from './books.ts'
import { startChance } from './chance.ts'
import type { Findings } from './findings.ts'
import { startLife } from './life.ts'
import type { SoakRig } from './rig.ts'
import { beginLife, endLife, startTraffic } from './run.ts'

export interface KillWishes {
  readonly seed: number
  readonly clients: number
  readonly kills: number
}

const CLIENT_PAUSE_MS = 20
const MIN_MS = 20
const MAX_MS = 600
/** The gateway's own audit is asked after every so many. */
const AUDIT_EVERY = 10
const GLANCE_MS = 5

export async function kills(
  rig: SoakRig,
  findings: Findings,
  { seed, clients, kills: wanted }: KillWishes,
): Promise<void> {
  const chance = startChance(seed)
  const traffic = await startTraffic(rig, findings, {
    seed,
    clients,
    clientPauseMs: CLIENT_PAUSE_MS,
  })
  const most = { lost: 0, doubled: 0, wrong: 0, openHolds: 0, lostTopUps: 0 }
  let audits = 0
  let clean = 0
  let charges = 0
  for (let number = 1; number <= wanted + 1; number++) {
    const live = await startLife(rig, number)
    // Before anybody asks: what the killed one held must have been given back.
    const books = await checkBooks(rig, findings, `after kill ${number - 1}`)
    charges = books.charges
    most.lost = Math.max(most.lost, books.lost.length)
    for (const what of ['doubled', 'wrong', 'openHolds', 'lostTopUps'] as const) {
      most[what] = Math.max(most[what], books[what])
    }
    if (number % AUDIT_EVERY === 1) {
      audits++
      if (await checkAudit(rig, findings, `after kill ${number - 1}`)) clean++
      console.log(`${number - 1} kills: answered ${findings.answers.size}, charges ${charges}`)
    }
    beginLife(traffic, live)
    if (number > wanted) break
    const before = findings.answers.size
    // From the first answer on, so that every kill meets a gateway that is at work.
    while (findings.answers.size === before) await Bun.sleep(GLANCE_MS)
    await Bun.sleep(chance.between(MIN_MS, MAX_MS))
    await endLife(traffic, findings, 'SIGKILL')
  }
  traffic.isOver = true
  await traffic.settled
  await endLife(traffic, findings, 'SIGTERM')
  charges = (await checkBooks(rig, findings, 'at the end')).charges
  audits++
  if (await checkAudit(rig, findings, 'at the end')) clean++
  console.log(
    `\n${wanted} kills: answered whole ${findings.answers.size}, charges ${charges}, lost ${most.lost}, doubled ` +
      `${most.doubled}, of another amount ${most.wrong}, leaked holds ${most.openHolds}, top-ups ` +
      `${findings.topUps.size}, lost or doubled ${most.lostTopUps}, audits ${clean} of ${audits} clean`,
  )
}
