/**
 * Midnight in the middle of the load, by the clock of the database, which is that of all nodes. Ceilings that were reached before it open, those of
 * the month at a month's end alone; what was admitted before it is charged to its day; and nobody gets more than the ceiling of either.
 */
import { COST_NANOS } from './books.ts'
import { type Field, post, QUICK } from './field.ts'
import type { PrintedKey } from './keys.ts'
import { leave, type SoakNode } from './node.ts'

const DAY_MS = 86_400_000
/** From the start of the database until midnight: nodes and load begin meanwhile, and ceilings are used up. */
const LEAD_MS = 30_000
/** Before midnight streams begin that end after it, and then the victim's claims come late. */
const EDGE_MS = 2_500
/** By how much clocks of nodes may be off. */
const APART_MS = 250
const OVER_MIDNIGHT = { kind: 'answer', chunks: 100, gapMs: 70, at: 0 } as const
/** That a ceiling has room for. */
const ANSWERS = 2
const RACED_ANSWERS = 4
const RACERS = 6
/** No stream waits for what others hold. */
const AMPLE_ANSWERS = 1_000
const USER = 'somebody'
const TOO_SLOW = 'this machine is too slow: midnight has come before the load'
const NONE_LATE = 'not tried: no claim of before midnight was admitted after it'

type Period = 'day' | 'month'

const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS
const nextMonth = (ms: number): number => {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
const isMonthsFirst = (ms: number): boolean => new Date(ms).getUTCDate() === 1

/** Nodes and database stop in order, and begin again just before the next midnight, or that of a month's end. */
export async function approachMidnight(field: Field, period: Period): Promise<void> {
  const { pair, nodes, findings } = field
  await Promise.all(nodes.map((node) => leave(node, findings)))
  const now = pair.now() + LEAD_MS
  let midnight = period === 'month' ? nextMonth(now) : startOfDay(now) + DAY_MS
  if (period === 'day' && isMonthsFirst(midnight)) midnight += DAY_MS
  await pair.restartAt(midnight - LEAD_MS)
  await Promise.all(nodes.map((node) => node.start()))
}

export async function passMidnight(field: Field): Promise<void> {
  const { pair, findings, nodes, victim } = field
  const midnight = startOfDay(pair.now()) + DAY_MS
  const until = (ms: number) => Bun.sleep(Math.max(0, ms - pair.now()))
  const ceilings = await Promise.all(CEILINGS.map((one) => issue(field, one)))
  const [over, raced] = await Promise.all([
    issueKey(field, 'over', '--daily-usd', usdOf(AMPLE_ANSWERS)),
    issueKey(field, 'raced', '--daily-usd', usdOf(RACED_ANSWERS)),
  ])
  const before = await Promise.all(ceilings.map((one) => askUntilRefused(field, one)))
  const leftMs = midnight - EDGE_MS - pair.now()
  if (leftMs < 0 || leftMs > LEAD_MS) {
    findings.unexplained(TOO_SLOW)
    return
  }
  for (const one of before) judgeBefore(field, one, midnight)
  await until(midnight - EDGE_MS)
  const streams = await Promise.all(nodes.map((node) => beginStream(node, over.key)))
  const endStreams = () => Promise.all(streams.map((stream) => endStream(field, stream)))
  if (pair.now() >= midnight) {
    findings.unexplained(TOO_SLOW)
    await endStreams()
    return
  }
  // It has 2 seconds for a new connection, and may say that its database is out of reach.
  victim.isTroubled = true
  victim.link.set('slow requests')
  const racing = raceOver(field, raced, midnight + EDGE_MS)
  await until(midnight + APART_MS)
  const after = await Promise.all(ceilings.map((one) => askUntilRefused(field, one)))
  for (const one of after) judgeAfter(field, one, midnight)
  await racing
  victim.link.set('none')
  await endStreams()
  await checkCharges(field, { over, raced, midnight })
}

interface Ceiling {
  readonly name: string
  readonly flag: string
  readonly period: Period
  readonly isOfAccount: boolean
}

const CEILINGS: readonly Ceiling[] = [
  { name: 'day', flag: '--daily-usd', period: 'day', isOfAccount: false },
  { name: 'month', flag: '--monthly-usd', period: 'month', isOfAccount: false },
  { name: 'end user', flag: '--end-user-daily-usd', period: 'day', isOfAccount: false },
  { name: 'account day', flag: '--daily-usd', period: 'day', isOfAccount: true },
  { name: 'account month', flag: '--monthly-usd', period: 'month', isOfAccount: true },
]

interface IssuedCeiling extends Ceiling {
  readonly id: string
  readonly key: string
}

const usdOf = (answers: number): string => ((answers * COST_NANOS) / 1e9).toFixed(6)

const issueKey = ({ rig }: Field, name: string, ...flags: readonly string[]) =>
  rig.ask<PrintedKey>('keys', 'create', name, ...flags)

async function issue(field: Field, ceiling: Ceiling): Promise<IssuedCeiling> {
  const { rig, pair } = field
  const { name, flag, isOfAccount } = ceiling
  const limit = [flag, usdOf(ANSWERS)]
  if (!isOfAccount) return { ...ceiling, ...(await issueKey(field, name, ...limit)) }
  const account = `${name.replace(' ', '-')}-${pair.now()}`
  await rig.ask('accounts', 'create', account, ...limit)
  await rig.ask('balance', 'top-up', '1', '--account', account)
  return { ...ceiling, ...(await issueKey(field, name, '--account', account)) }
}

/** Answers with its first word. */
const beginStream = (node: SoakNode, secret: string): Promise<Response> =>
  post(node, secret, OVER_MIDNIGHT, { stream: true })

async function endStream({ findings }: Field, response: Response): Promise<void> {
  const isWhole = (await response.text()).endsWith('data: [DONE]\n\n')
  if (isWhole) findings.answered(response.headers.get('x-generation-id') ?? '', true)
  else findings.violation(`a stream over midnight: ${response.status}, not whole`)
}

interface Refused {
  readonly ceiling: Ceiling
  readonly answered: number
  /** As the refusal says. */
  readonly resetsAt: number
}

/** How often it is answered until it is refused, each time by another node whose way to the database is free. */
async function askUntilRefused(
  { findings, nodes }: Field,
  { key, ...ceiling }: IssuedCeiling,
): Promise<Refused> {
  const free = nodes.filter(({ isTroubled }) => !isTroubled)
  for (let answered = 0; ; answered++) {
    const node = free[answered % free.length] as SoakNode
    const response = await post(node, key, QUICK, { user: USER })
    const text = await response.text()
    if (response.status === 200 && answered <= ANSWERS) {
      findings.answered(response.headers.get('x-generation-id') ?? '', true)
      continue
    }
    if (response.status !== 402)
      findings.violation(`ceiling of ${ceiling.name}: ${response.status} ${text}`)
    const resetsAt = Date.parse(/"resets_at":"([^"]+)"/.exec(text)?.[1] ?? '')
    return { ceiling, answered, resetsAt }
  }
}

function judgeBefore(field: Field, refused: Refused, midnight: number): void {
  const { ceiling, answered } = refused
  if (answered !== ANSWERS)
    field.findings.violation(`ceiling of ${ceiling.name}: ${answered} answers before midnight`)
  judgeEnd(field, refused, ceiling.period === 'day' ? midnight : nextMonth(midnight - 1))
}

function judgeAfter(field: Field, refused: Refused, midnight: number): void {
  const { ceiling, answered } = refused
  const isOpen = ceiling.period === 'day' || isMonthsFirst(midnight)
  if (answered !== (isOpen ? ANSWERS : 0))
    field.findings.violation(`ceiling of ${ceiling.name}: ${answered} answers after midnight`)
  else field.findings.count(isOpen ? 'ceilings opened by midnight' : 'ceilings kept over midnight')
  judgeEnd(field, refused, ceiling.period === 'day' ? midnight + DAY_MS : nextMonth(midnight))
}

function judgeEnd({ findings }: Field, { ceiling, resetsAt }: Refused, end: number): void {
  if (resetsAt !== end)
    findings.violation(
      `ceiling of ${ceiling.name}: says that it ends at ${resetsAt}, not at ${end}`,
    )
}

/** Many ask for the last money of the day before, and for the next day's, at once. */
async function raceOver({ pair, nodes }: Field, { key }: PrintedKey, end: number): Promise<void> {
  await Promise.all(
    Array.from({ length: RACERS }, async (_, racer) => {
      for (let nth = racer; pair.now() < end; nth++) {
        const response = await post(nodes[nth % nodes.length] as SoakNode, key, QUICK)
        await response.text()
      }
    }),
  )
}

/** By the ledger. */
async function checkCharges(
  { rig, findings, nodes }: Field,
  { over, raced, midnight }: { over: PrintedKey; raced: PrintedKey; midnight: number },
): Promise<void> {
  const today = midnight / DAY_MS
  const charges = await rig.query<{ key: string; day: number; n: number; first: number }>(
    `SELECT key_id AS key, day, count(*) AS n, min(at) AS first FROM ledger
     WHERE key_id IN ('${over.id}', '${raced.id}') GROUP BY 1, 2`,
  )
  const of = (key: PrintedKey, day: number) =>
    charges.find((one) => one.key === key.id && Number(one.day) === day)
  const before = of(over, today - 1)
  if (Number(before?.n) !== nodes.length || Number(before?.first) < midnight || of(over, today))
    findings.violation(`streams over midnight are charged ${JSON.stringify(charges)}`)
  else findings.count('streams charged to the day before', nodes.length)
  for (const day of [today - 1, today]) {
    const n = Number(of(raced, day)?.n ?? 0)
    if (n > RACED_ANSWERS + 1) findings.violation(`${n} charges of ${RACED_ANSWERS} on ${day}`)
    if (n >= RACED_ANSWERS) findings.count('last money of a day spent at midnight')
  }
  const [late] = await rig.query<{ n: number }>(
    `SELECT count(*) AS n FROM ledger l JOIN activity a USING (generation_id) WHERE l.day = ${today} AND a.admitted_at < ${midnight}`,
  )
  const claims = Number(late?.n)
  if (claims === 0) findings.unexplained(NONE_LATE)
  else findings.count('claims of before midnight that were admitted after it', claims)
}
