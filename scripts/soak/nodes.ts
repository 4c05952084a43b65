/** Nodes over one PostgreSQL with a synchronous standby: in each round something dies, stops or is cut off; then the books are read. */
import { HAS_FAKETIME } from '../faketime.ts'
import { POSTGRES_BIN } from '../postgres-package.ts'
import { checkAudit, checkBooks, checkDays } from './books.ts'
import { startChance } from './chance.ts'
import { runClient } from './client.ts'
import { type Field, post, QUICK } from './field.ts'
import type { Findings } from './findings.ts'
import { type PrintedKey, type SoakKey, toKey } from './keys.ts'
import { approachMidnight, passMidnight } from './midnight.ts'
import { leave, openLink, openNode, type SoakNode } from './node.ts'
import { operate } from './operator.ts'
import { startPair } from './pair.ts'
import { issueRaced, RACERS, race } from './race.ts'
import type { Trouble } from './relay.ts'
import { openSoakRig, type SoakRig } from './rig.ts'

export interface NodeWishes {
  readonly seed: number
  readonly clients: number
  readonly nodes: number
  /** Null: as many as play every kind once. */
  readonly rounds: number | null
  /** In the names of the rounds that are played. */
  readonly only: string
}

const CLIENT_PAUSE_MS = 300
const OPERATOR_PAUSE_MS = 1_500
/** So far apart that no round's client or racer draws as another's. */
const SEED_STEP = 1_000_003
/** What is at work when it happens. */
const BEFORE_MS = 1_500
const STOP_MS = 13_000
/** Others wait longer before they end it. */
const PAUSE_MS = 8_000
const BRIEF_MS = 2_000
const LATE_MS = 8_000
const SNAPSHOT_MS = 60_000
const IDLE_WITHIN_MS = 15_000
const POLL_MS = 100

/** As docs/scale.md promises. */
const FREE_WITHIN_MS = 12_000
const BACK_WITHIN_MS = 20_000
const PROMOTED_WITHIN_MS = 15_000

/** What is done before the load begins, and what happens in the middle of it. */
type Act = (field: Field) => Promise<void>
type Round = readonly [name: string, happen: Act, prepare?: Act]
const ROUNDS: readonly Round[] = [
  ['kill -9 of a node', killNode],
  ['a node stopped for 13 s', stopNode],
  ['a node stopped for 8 s', pauseNode],
  ['kill -9 of the primary', failOver],
  ['2 s of silence', (field) => trouble(field, 'silence', BRIEF_MS)],
  ['13 s of silence', cutOff],
  ['resets', (field) => trouble(field, 'reset', BRIEF_MS)],
  ['late requests', (field) => trouble(field, 'late requests', LATE_MS)],
  ['late answers', (field) => trouble(field, 'late answers', LATE_MS)],
  ['a snapshot open for 60 s', keepSnapshot],
  ['midnight', passMidnight, (field) => approachMidnight(field, 'day')],
  ['midnight of a month’s end', passMidnight, (field) => approachMidnight(field, 'month')],
]

function choose({ only, rounds }: NodeWishes): readonly Round[] {
  const kinds = ROUNDS.filter(([name]) => name.includes(only))
  if (kinds.length === 0)
    throw new Error(`--only: none of ${ROUNDS.map(([name]) => name).join(', ')}`)
  const chosen = Array.from(
    { length: rounds ?? kinds.length },
    (_, nth) => kinds[nth % kinds.length] as Round,
  )
  if (!HAS_FAKETIME && chosen.some(([, happen]) => happen === passMidnight))
    throw new Error('faketime is not installed, which midnight needs: --only plays other rounds')
  return chosen
}

export async function nodes(binary: string, findings: Findings, wishes: NodeWishes): Promise<void> {
  if (POSTGRES_BIN === null) throw new Error('PostgreSQL is not installed')
  const { seed, clients, nodes: count } = wishes
  const rounds = choose(wishes)
  const pair = await startPair(POSTGRES_BIN)
  const desk = await openLink(pair)
  const env = {
    GATEWAY_STORE: desk.address,
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const rig = await openSoakRig(binary, { env, query: pair.query })
  const nodes: SoakNode[] = []
  let isOver = false
  try {
    for (let nth = 0; nth < count; nth++) {
      nodes.push(await openNode(rig, pair, `node-${nth + 1}`))
    }
    const wide = await rig.ask<PrintedKey>('keys', 'create', 'wide', '--concurrency', '10000')
    const keys = [toKey(wide, true)]
    let disturbedMs = 0
    const disturb = async (act: () => Promise<void>): Promise<void> => {
      disturbedMs = Number.POSITIVE_INFINITY
      await act()
      disturbedMs = performance.now()
    }
    const operating = operate(
      {
        ...{ rig, keys, findings, pauseMs: OPERATOR_PAUSE_MS, isOver: () => isOver },
        isDisturbedSince: (ms) => disturbedMs >= ms,
      },
      startChance(seed),
    )
    for (const [round, [name, happen, prepare]] of rounds.entries()) {
      const victim = nodes[round % count] as SoakNode
      const other = nodes[(round + 1) % count] as SoakNode
      const field = { rig, pair, findings, nodes, victim, other }
      const drawn = { seed: seed * SEED_STEP + round * (clients + RACERS), clients, keys }
      const play = () => playRound(field, drawn, () => happen(field))
      if (prepare) await disturb(() => prepare(field))
      if (happen !== failOver) await play()
      else await disturb(() => play().then(pair.rebuild))
      await awaitIdle(rig)
      const books = await checkBooks(rig, findings, name)
      await checkDays(rig, findings, name)
      const isClean = await checkAudit(rig, findings, name)
      console.log(
        `round ${round + 1}, ${name}: answered ${findings.answers.size}, charges ${books.charges}, ` +
          `audit ${isClean ? 'clean' : 'NOT CLEAN'}, violations ${findings.violations.length}`,
      )
    }
    isOver = true
    await operating
    for (const node of nodes) await leave(node, findings)
  } finally {
    isOver = true
    for (const { life, link } of nodes) {
      life.signal('SIGCONT')
      await life.end('SIGKILL').catch(() => {})
      link.close()
    }
    rig.close()
    desk.close()
    pair.stop()
  }
}

/** Load at all nodes; in the middle of it something happens, and limits have a last slot. Ends when nothing is in progress. */
async function playRound(
  field: Field,
  { seed, clients, keys }: { seed: number; clients: number; keys: readonly SoakKey[] },
  happen: () => Promise<void>,
): Promise<void> {
  const { findings, nodes } = field
  const raced = await issueRaced(field)
  let isOver = false
  let nth = 0
  const next = (): SoakNode | undefined => {
    const up = nodes.filter(({ isDown }) => !isDown)
    return up[nth++ % up.length]
  }
  const nodeOf = (life: SoakNode['life']) => nodes.find((one) => one.life === life)
  const isTroubled = (life: SoakNode['life']): boolean => nodeOf(life)?.isTroubled !== false
  const context = {
    ...{ keys, findings, pauseMs: CLIENT_PAUSE_MS, isOver: () => isOver },
    life: () => next()?.life,
    isTroubled,
  }
  const running = Array.from({ length: clients }, (_, who) =>
    runClient(context, startChance(seed + who)),
  )
  const racing = race(field, raced, { next, isOver: () => isOver, seed: seed + clients })
  await Bun.sleep(BEFORE_MS)
  await happen()
  for (const node of nodes) await awaitServed(field, node)
  isOver = true
  await Promise.all([...running, racing])
  for (const node of nodes) node.isTroubled = false
}

async function killNode(field: Field): Promise<void> {
  const { victim } = field
  const place = await takePlace(field)
  victim.isTroubled = true
  const begin = performance.now()
  await victim.life.end('SIGKILL')
  victim.isDown = true
  await place.text
  await awaitPlace(field, place.key, begin)
  await victim.start()
}

/** The victim says nothing to the database, but lives on. */
async function silence(
  field: Field,
  begins: (victim: SoakNode) => void,
  ends: (victim: SoakNode) => void,
): Promise<void> {
  const { victim } = field
  const place = await takePlace(field)
  victim.isTroubled = true
  const begin = performance.now()
  begins(victim)
  await awaitPlace(field, place.key, begin)
  await Bun.sleep(begin + STOP_MS - performance.now())
  ends(victim)
  await awaitWhole(field, place)
}

function stopNode(field: Field): Promise<void> {
  return silence(
    field,
    ({ life }) => life.signal('SIGSTOP'),
    ({ life }) => life.signal('SIGCONT'),
  )
}

/** It is ended by nobody, and has its place all the while. */
async function pauseNode(field: Field): Promise<void> {
  const { rig, victim, findings } = field
  const epoch = async () =>
    (await rig.query<{ epoch: string }>(`SELECT epoch FROM nodes WHERE name = '${victim.name}'`))[0]
      ?.epoch
  const place = await takePlace(field)
  const before = await epoch()
  victim.isTroubled = true
  victim.life.signal('SIGSTOP')
  await Bun.sleep(PAUSE_MS)
  victim.life.signal('SIGCONT')
  await awaitWhole(field, place)
  if ((await epoch()) !== before)
    findings.violation(`a node was ended that stopped for ${PAUSE_MS} ms`)
}

function cutOff(field: Field): Promise<void> {
  return silence(
    field,
    ({ link }) => link.set('silence'),
    ({ link }) => link.set('none'),
  )
}

async function trouble({ victim }: Field, kind: Trouble, ms: number): Promise<void> {
  victim.isTroubled = true
  victim.link.set(kind)
  await Bun.sleep(ms)
  victim.link.set('none')
}

/** What it costs nodes is time: nobody is refused. `status` warns of it. */
async function keepSnapshot({ pair, rig, findings }: Field): Promise<void> {
  const end = await pair.openSnapshot()
  await Bun.sleep(SNAPSHOT_MS)
  const { out } = await rig.type('doctor')
  if (!out.includes('a transaction of'))
    findings.violation(`a snapshot of 60 s is not told of:\n${out}`)
  await end()
}

async function failOver(field: Field): Promise<void> {
  const { pair, nodes, findings } = field
  for (const node of nodes) node.isTroubled = true
  await pair.failOver()
  const begin = performance.now()
  await Promise.all(nodes.map((node) => awaitServed(field, node)))
  const tookMs = performance.now() - begin
  if (tookMs > PROMOTED_WITHIN_MS)
    findings.violation(`a promotion was found after ${Math.round(tookMs)} ms`)
}

/** Longer than a node may be silent. */
const LONG = { kind: 'answer', chunks: 100, gapMs: 180, at: 0 } as const

interface Place {
  readonly key: string
  readonly generationId: string
  /** Of the stream that has the only place; empty where it was cut off. */
  readonly text: Promise<string>
}

/** The only place of a key, at the victim. */
async function takePlace({ rig, victim }: Field): Promise<Place> {
  const { key } = await rig.ask<PrintedKey>('keys', 'create', 'place', '--concurrency', '1')
  const response = await post(victim, key, LONG, { stream: true })
  const text = response.text().catch(() => '')
  return { key, generationId: response.headers.get('x-generation-id') ?? '', text }
}

async function awaitPlace({ findings, other }: Field, key: string, begin: number): Promise<void> {
  for (;;) {
    const response = await post(other, key, QUICK)
    await response.text()
    const tookMs = Math.round(performance.now() - begin)
    if (response.status !== 200 && tookMs < 2 * FREE_WITHIN_MS) {
      await Bun.sleep(POLL_MS)
      continue
    }
    findings.count('places freed')
    if (tookMs > FREE_WITHIN_MS) findings.violation(`a place was free after ${tookMs} ms`)
    return
  }
}

/** The node goes on, and what it still answers is whole. */
async function awaitWhole({ findings }: Field, { generationId, text }: Place): Promise<void> {
  const isWhole = (await text).endsWith('data: [DONE]\n\n')
  if (!isWhole) findings.violation('an answer of a node that went on is not whole')
  else findings.answered(generationId, true)
}

/** Who has left is not waited for by anybody, but their ends are written soon. */
async function awaitIdle(rig: SoakRig): Promise<void> {
  const begin = performance.now()
  while (performance.now() - begin < IDLE_WITHIN_MS && (await rig.openHolds()) > 0)
    await Bun.sleep(POLL_MS)
}

async function awaitServed({ rig, findings }: Field, node: SoakNode): Promise<void> {
  const begin = performance.now()
  for (;;) {
    const response = await fetch(`${node.life.origin}/readyz`).catch(() => null)
    if (response?.status === 200) return
    if (performance.now() - begin > BACK_WITHIN_MS) {
      const { out } = await rig.type('nodes', 'list')
      findings.violation(`${node.name} is not back: ${await response?.text()}\n${out}`)
      return
    }
    await Bun.sleep(POLL_MS)
  }
}
