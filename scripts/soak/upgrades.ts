/** Upgrade after upgrade under a steady load with long streams: nothing may be refused, cut off, or charged otherwise than once. */
import { checkAudit, checkBooks } from './books.ts'
import type { Findings } from './findings.ts'
import { type Life, startLife } from './life.ts'
import type { SoakRig } from './rig.ts'

export interface UpgradeWishes {
  readonly upgrades: number
}

const A_SECOND = 50
const STREAMS = 12
const STREAM_SECONDS = 60
const WORDS_A_SECOND = 20
/** From the end of one upgrade to the next. */
const PAUSE_MS = 5_000
const TOLD_EVERY = 10
const SERVE = ['--processes', '2']

interface Load {
  origin: string
  readonly headers: Readonly<Record<string, string>>
  isOver: boolean
  slowestMs: number
  asked: number
  streams: number
}

export async function upgrades(
  rig: SoakRig,
  findings: Findings,
  { upgrades: wanted }: UpgradeWishes,
): Promise<void> {
  const { key } = await rig.ask<{ readonly key: string }>('keys', 'create', 'steady')
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let life = await startLife(rig, 0, SERVE)
  const load: Load = {
    origin: life.origin,
    headers,
    isOver: false,
    slowestMs: 0,
    asked: 0,
    streams: 0,
  }
  const settled = Promise.all([
    askSteadily(load, findings),
    ...Array.from({ length: STREAMS }, (_, nth) => streamOn(load, findings, nth)),
  ])
  let longestMs = 0
  for (let number = 1; number <= wanted; number++) {
    await Bun.sleep(PAUSE_MS)
    const startedMs = performance.now()
    life = await upgrade(life, number, rig, findings)
    longestMs = Math.max(longestMs, performance.now() - startedMs)
    load.origin = life.origin
    if (number % TOLD_EVERY === 0) tell(number, load, findings)
  }
  load.isOver = true
  await settled
  await life.end('SIGTERM')
  const books = await checkBooks(rig, findings, 'at the end')
  const isClean = await checkAudit(rig, findings, 'at the end')
  tell(wanted, load, findings)
  console.log(
    `\n${wanted} upgrades: requests ${load.asked}, streams of ${STREAM_SECONDS} s ${load.streams}, ` +
      `charges ${books.charges}, lost ${books.lost.length}, doubled ${books.doubled}, holds left ${books.openHolds}, ` +
      `audit ${isClean ? 'clean' : 'not clean'}, slowest request ${Math.round(load.slowestMs)} ms, ` +
      `longest upgrade ${Math.round(longestMs)} ms`,
  )
}

/** The old one ends by itself, with 0. */
async function upgrade(
  before: Life,
  number: number,
  rig: SoakRig,
  findings: Findings,
): Promise<Life> {
  const life = await startLife(rig, number, [...SERVE, '--takeover'])
  const code = await before.exited
  if (code !== 0) findings.violation(`upgrade ${number}: the one before ended with ${code}`)
  if (life.origin !== before.origin) findings.violation(`upgrade ${number}: at another address`)
  return life
}

function tell(number: number, { asked }: Load, { counts, violations }: Findings): void {
  const seen = [...counts].map(([what, n]) => `${what} ${n}`).join(', ')
  console.log(
    `${number} upgrades: asked ${asked}${seen && `, ${seen}`}, violations ${violations.length}`,
  )
}

/** Requests at a fixed rate, whatever becomes of those before; every other one on a connection of its own. */
async function askSteadily(load: Load, findings: Findings): Promise<void> {
  const startedMs = performance.now()
  const open = new Set<Promise<void>>()
  for (let nth = 0; !load.isOver; nth++) {
    const asking = ask(load, findings, nth % 2 === 0)
    open.add(asking)
    void asking.then(() => open.delete(asking))
    await Bun.sleep(Math.max(0, startedMs + (nth * 1_000) / A_SECOND - performance.now()))
  }
  await Promise.all(open)
}

async function ask(load: Load, findings: Findings, isFresh: boolean): Promise<void> {
  const startedMs = performance.now()
  load.asked++
  const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
  try {
    const answer = await send(load, body, isFresh)
    const text = await answer.text()
    if (answer.status === 200) findings.answered((JSON.parse(text) as { id: string }).id, false)
    else fail(findings, `answered ${answer.status}`, text)
  } catch (cause) {
    fail(findings, isFresh ? 'lost on a new connection' : 'lost on an open one', String(cause))
  }
  load.slowestMs = Math.max(load.slowestMs, performance.now() - startedMs)
}

/** One stream after the other; each begins at another moment of its minute. */
async function streamOn(load: Load, findings: Findings, nth: number): Promise<void> {
  await Bun.sleep((nth * STREAM_SECONDS * 1_000) / STREAMS)
  while (!load.isOver) {
    const body = {
      model: 'demo/lorem',
      stream: true,
      max_tokens: STREAM_SECONDS * WORDS_A_SECOND,
      user: `rate-${WORDS_A_SECOND}`,
      messages: [{ role: 'user', content: 'go on' }],
    }
    try {
      const answer = await send(load, body, true)
      const text = await answer.text()
      if (text.endsWith('data: [DONE]\n\n')) {
        load.streams++
        findings.answered(answer.headers.get('x-generation-id') ?? '', false)
      } else fail(findings, 'stream cut', `${answer.status} ${text.slice(-200)}`)
    } catch (cause) {
      fail(findings, 'stream cut', String(cause))
    }
  }
}

const send = ({ origin, headers }: Load, body: object, isFresh: boolean): Promise<Response> =>
  fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: isFresh ? { ...headers, connection: 'close' } : headers,
    body: JSON.stringify(body),
  })

function fail(findings: Findings, what: string, how: string): void {
  findings.count(what)
  findings.violation(`${what}: ${how}`)
}
