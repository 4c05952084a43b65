/** Part `cabinet`: the screens of an account with a long past and many keys, and what ten people who click cost the gateway. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { beginSession } from '#cabinet/session.ts'
import { openStore } from '#db/index.ts'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { draftAct } from '#domain/act.ts'
import { DAY_MS, type Instant, later, systemClock } from '#domain/clock.ts'
import { digestOf, randomSecret } from '#signin/register/digest.ts'
import { newPerson } from '#signin/register/person.ts'
import type { SigninStore } from '#signin/store.ts'
import type { Past } from './books.ts'
import { contest, median } from './compare.ts'
import { type FilledKey, openFiller } from './fill.ts'
import { load } from './load.ts'
import { ALL_CORES, cpuMicros, freePort, type Measured, start, stayOn } from './process.ts'
import {
  type AnswerRoute,
  bodyFor,
  type Effort,
  furnish,
  GATEWAY,
  LOAD_CORE,
  MEASURED_CORE,
  startMock,
} from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
const RPD = 9_000_000
const PEOPLE = 10
/** Each of them, so often. */
const CLICK_MS = 1_000
/** Of what the gateway serves while nobody clicks, in an open loop. */
const SHARES = [0.5, 0.8]
/** More requests than are ever under way at such rates. */
const OPEN_CONNECTIONS = 256
/** So often each screen is asked for, after the first time. */
const TURNS = 15

const MAX_FIRST_MS = 20
const MAX_COMPLETE_MS = 100
const MAX_SCREEN_KIBIBYTES = 60
const MAX_ASSETS_KIBIBYTES = 120
/** With people who click, of that without. */
const MAX_P99_RATIO = 1.1

/** So long everything is warmed up: what compiles a page for the first time shares the measured core with the requests. */
const WARM_SECONDS = 15
const WARM_CLICK_MS = 60

interface Seat {
  readonly gateway: Measured
  readonly authUrl: string
  /** Of each person's session. */
  readonly cookies: readonly string[]
  readonly screens: readonly string[]
}

/** Measures and prints; false when a figure is beyond its bound. */
export async function cabinet(effort: Effort & Past): Promise<boolean> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const mock = await startMock()
  furnish(dataDir, mock.origin, [ROUTE])
  const filler = openFiller(dataDir)
  const keys = filler.issue(effort.keys, RPD)
  filler.spend(keys, effort.rows)
  filler.close()
  Bun.spawnSync(['sync'])
  console.log(`filled: ${effort.keys} keys, ${effort.rows} requests`)
  const cookies = await seatPeople(dataDir)
  const otherDir = `${dataDir}-other`
  cpSync(dataDir, otherDir, { recursive: true })
  const seat = await openSeat(dataDir, cookies, keys)
  const other = await openSeat(otherDir, cookies, keys)
  try {
    const verdicts = [
      await timeScreens(seat),
      await lookInChromium(seat),
      await compareClicking(seat, other, mock, keys, effort),
    ]
    return verdicts.every(Boolean)
  } finally {
    await Promise.all([seat.gateway.stop(), other.gateway.stop(), mock.stop()])
    for (const dir of [dataDir, otherDir]) rmSync(dir, { recursive: true, force: true })
  }
}

async function openSeat(
  dataDir: string,
  cookies: readonly string[],
  keys: readonly FilledKey[],
): Promise<Seat> {
  const port = freePort()
  const gateway = await start(
    [GATEWAY, 'serve', '--listen', '127.0.0.1:0', '--auth-listen', `127.0.0.1:${port}`],
    MEASURED_CORE,
    { GATEWAY_DATA_DIR: dataDir },
  )
  const authUrl = `http://127.0.0.1:${port}`
  const screens = await screensOf({ authUrl, cookies }, keys)
  return { gateway, authUrl, cookies, screens }
}

/** Owners who are signed in, as by a code: the cookie of each. */
async function seatPeople(dataDir: string): Promise<readonly string[]> {
  const store = await openStore({ dataDir, clock: systemClock })
  const at = systemClock.now()
  const account = await store.accounts.findByName(DEFAULT_ACCOUNT_NAME)
  if (account === undefined) throw new Error('no account')
  const cookies: string[] = []
  for (let n = 0; n < PEOPLE; n++) {
    const person = newPerson(`p${n}@example.org`, at)
    const membership = { accountId: account.id, personId: person.id, role: 'owner', since: at }
    const added = draftAct(at, 'bench', 'accounts.members.add', { target: person.id, changed: {} })
    await store.signin.memberships.put({ ...membership, role: 'owner' }, person, added)
    cookies.push(`cabinet=${await openSession(store.signin, person.id, at)}`)
  }
  await store.close()
  return cookies
}

async function openSession(
  { artifacts }: SigninStore,
  personId: ReturnType<typeof newPerson>['id'],
  at: Instant,
): Promise<string> {
  const [uid, kind, digest] = [randomSecret(), 'Session', digestOf(randomSecret())]
  const after = {
    ...{ kind, digest, uid, personId, payload: '{}' },
    ...{ grantId: null, clientId: null, consumedAt: null, expiresAt: later(at, DAY_MS) },
  }
  const revocations = await artifacts.revocations()
  const changes = [{ kind, digest, version: 0, after }]
  await artifacts.write({ changes, revokedGrants: [], events: [], revocations })
  const session = { personId, uid, address: '127.0.0.1', agent: 'bench', revocations }
  return (await beginSession(artifacts, session, at)) ?? ''
}

interface Shown {
  readonly text: string
  readonly firstMs: number
  readonly completeMs: number
}

async function show(authUrl: string, path: string, cookie: string): Promise<Shown> {
  const begin = performance.now()
  const answer = await fetch(authUrl + path, { headers: { cookie, 'accept-encoding': 'br' } })
  const parts: Uint8Array[] = []
  let firstMs = 0
  for await (const part of answer.body ?? []) {
    if (parts.length === 0) firstMs = performance.now() - begin
    parts.push(part)
  }
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`)
  const completeMs = performance.now() - begin
  return { text: Buffer.concat(parts).toString(), firstMs, completeMs }
}

/** Each once; one key of many, and one request of many. */
async function screensOf(
  { authUrl, cookies }: Pick<Seat, 'authUrl' | 'cookies'>,
  keys: readonly FilledKey[],
): Promise<readonly string[]> {
  const { text } = await show(authUrl, '/cabinet/activity', cookies[0] ?? '')
  const request = /\/cabinet\/activity\/gen-[\w-]+/.exec(text)?.[0]
  return [
    '/cabinet',
    '/cabinet/keys',
    `/cabinet/keys/${keys[0]?.id}`,
    '/cabinet/activity',
    // Nothing matches: as far is looked as a page looks.
    '/cabinet/activity?status=4xx',
    '/cabinet/activity?user=nobody&model=words/m',
    ...(request === undefined ? [] : [request]),
    '/cabinet/spend',
    '/cabinet/spend?by=user&period=90',
    '/cabinet/balance',
    '/cabinet/models',
    '/cabinet/models/words/m',
    '/cabinet/people',
    '/cabinet/you',
  ]
}

const kibibytes = (bytes: number): number => bytes / 1024

async function timeScreens({ gateway, authUrl, cookies, screens }: Seat): Promise<boolean> {
  console.log('\nscreens: the first time, then medians (and the longest)')
  let isWithin = true
  for (const path of screens) {
    const first = await show(authUrl, path, cookies[0] ?? '')
    const turns: Shown[] = []
    const before = cpuMicros(gateway.pid)
    for (let n = 0; n < TURNS; n++) turns.push(await show(authUrl, path, cookies[0] ?? ''))
    const cpuMs = (cpuMicros(gateway.pid) - before) / 1000 / TURNS
    const told = (of: (one: Shown) => number): string =>
      `${median(turns.map(of)).toFixed(1)} (${Math.max(...turns.map(of)).toFixed(1)})`
    const size = kibibytes(Buffer.byteLength(first.text))
    const isKept =
      median(turns.map(({ firstMs }) => firstMs)) <= MAX_FIRST_MS &&
      median(turns.map(({ completeMs }) => completeMs)) <= MAX_COMPLETE_MS &&
      size <= MAX_SCREEN_KIBIBYTES
    isWithin &&= isKept
    console.log(
      `  ${path.replace(/(?:key_|gen-)\w+/, '…').padEnd(34)} ${first.completeMs.toFixed(1).padStart(7)} ms   ` +
        `first byte ${told(({ firstMs }) => firstMs)} ms   complete ${told(({ completeMs }) => completeMs)} ms   ` +
        `CPU ${cpuMs.toFixed(1)} ms   ${size.toFixed(1)} KiB ${isKept ? '' : 'BROKEN'}`,
    )
  }
  console.log(
    `  at most ${MAX_FIRST_MS} ms, ${MAX_COMPLETE_MS} ms, ${MAX_SCREEN_KIBIBYTES} KiB: ${isWithin ? 'kept' : 'BROKEN'}`,
  )
  return isWithin
}

/** What a browser says of the same; where the machine has one. Beside each page a copy of it without style and script, which is the browser's own. */
async function lookInChromium({ authUrl, cookies, screens }: Seat): Promise<boolean> {
  const executablePath = ['chromium', 'chromium-browser', 'google-chrome'].flatMap(
    (name) => Bun.which(name) ?? [],
  )[0]
  if (executablePath === undefined) return true
  // A browser is many processes, and of one core it would measure itself.
  stayOn(ALL_CORES)
  const browser = await chromium.launch({ executablePath })
  try {
    const context = await browser.newContext()
    const [name = '', value = ''] = (cookies[0] ?? '').split('=')
    await context.addCookies([{ name, value, url: authUrl }])
    const page = await context.newPage()
    await page.goto(`${authUrl}/cabinet`)
    const assets = await page.evaluate<number>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/assets/'))
        .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
    )
    let bare = ''
    await using copies = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(bare, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    })
    const loaded = async (url: string): Promise<number> => {
      await page.goto(url)
      return page.evaluate(`performance.getEntriesByType('navigation')[0].loadEventEnd`)
    }
    const times: { readonly own: number; readonly bare: number }[] = []
    for (const path of screens) {
      const { text } = await show(authUrl, path, cookies[0] ?? '')
      bare = text.replace(/<script[^>]*><\/script>|<link[^>]*>/g, '')
      const turns: [number, number][] = []
      for (let n = 0; n < 5; n++) {
        turns.push([await loaded(authUrl + path), await loaded(copies.url.href)])
      }
      times.push({
        own: median(turns.map(([own]) => own)),
        bare: median(turns.map(([, bare]) => bare)),
      })
    }
    const isWithin =
      kibibytes(assets) <= MAX_ASSETS_KIBIBYTES &&
      Math.max(...times.map(({ own }) => own)) <= MAX_COMPLETE_MS
    console.log(
      `\nChromium: assets ${kibibytes(assets).toFixed(1)} KiB, at most ${MAX_ASSETS_KIBIBYTES}; loaded after, and without ` +
        `style and script: ${times.map(({ own, bare }) => `${own.toFixed(0)}/${bare.toFixed(0)}`).join(' ')} ms, ` +
        `at most ${MAX_COMPLETE_MS}: ${isWithin ? 'kept' : 'BROKEN'}`,
    )
    return isWithin
  } finally {
    await browser.close()
    stayOn(LOAD_CORE)
  }
}

/** Everybody opens a screen after another, beside one whose figures live; resolves with what ends it. */
function letClick({ authUrl, cookies, screens }: Seat, everyMs = CLICK_MS): () => Promise<void> {
  let isOver = false
  const closed = new AbortController()
  const tabs = cookies.map(async (cookie) => {
    const headers = { cookie, accept: 'text/event-stream' }
    const answer = await fetch(`${authUrl}/cabinet/live`, { headers, signal: closed.signal })
    for await (const _ of answer.body ?? []);
  })
  const people = cookies.map(async (cookie, n) => {
    await Bun.sleep((n * everyMs) / cookies.length)
    for (let turn = n; !isOver; turn++) {
      await show(authUrl, screens[turn % screens.length] as string, cookie)
      await Bun.sleep(everyMs)
    }
  })
  return async () => {
    isOver = true
    await Promise.all(people)
    closed.abort()
    await Promise.allSettled(tabs)
  }
}

/**
 * Beside nobody who clicks and people who click: the same people at a gateway of their own, on the same core. What they take of the core
 * there is the least that any gateway could have them take.
 */
async function compareClicking(
  seat: Seat,
  other: Seat,
  mock: Measured,
  keys: readonly FilledKey[],
  { rounds, seconds, connections }: Effort,
): Promise<boolean> {
  const { pid, origin } = seat.gateway
  const target = {
    origin,
    path: '/v1/chat/completions',
    keys: keys.map(({ secret }) => secret),
    body: bodyFor(ROUTE),
  }
  const quiet = { pid, target, mock }
  const contenders = {
    quiet,
    elsewhere: { ...quiet, beside: () => letClick(other) },
    clicking: { ...quiet, beside: () => letClick(seat) },
  }
  for (const one of [seat, other]) {
    const end = letClick(one, WARM_CLICK_MS)
    await load({ ...target, origin: one.gateway.origin }, connections, { seconds: WARM_SECONDS })
    await end()
  }
  const judge = async (what: string, connections: number, rate?: number) => {
    const until = { seconds, ...(rate !== undefined && { rate }) }
    const figures = await contest(contenders, { connections, rounds, until })
    const told = (which: keyof typeof contenders): string =>
      `${figures.of(which, 'rps').toFixed(0)} req/s, p50 ${(figures.of(which, 'p50Micros') / 1000).toFixed(2)} ms, ` +
      `p99 ${(figures.of(which, 'p99Micros') / 1000).toFixed(2)} ms, longest ${(figures.of(which, 'longestMicros') / 1000).toFixed(1)} ms`
    const ratio = figures.ratio('p99Micros', 'clicking', 'quiet')
    const atLeast = figures.ratio('p99Micros', 'elsewhere', 'quiet')
    const isWithin = ratio <= MAX_P99_RATIO
    console.log(`\nrequests at the gateway, ${what}, ${rounds} rounds of ${seconds} s, in turns`)
    console.log(`  nobody clicks:     ${told('quiet')}`)
    console.log(`  ${PEOPLE} people click:   ${told('clicking')}`)
    console.log(`  ${PEOPLE} elsewhere:      ${told('elsewhere')}`)
    console.log(
      `  p99 ${ratio.toFixed(2)} times, at most ${MAX_P99_RATIO}: ${isWithin ? 'kept' : 'BROKEN'}; elsewhere ${atLeast.toFixed(2)}`,
    )
    return { isWithin, most: figures.of('quiet', 'rps') }
  }
  const full = await judge(`${connections} connections`, connections)
  const verdicts = [full.isWithin]
  for (const share of SHARES) {
    const rate = Math.round(full.most * share)
    verdicts.push((await judge(`${rate} a second`, OPEN_CONNECTIONS, rate)).isWithin)
  }
  return verdicts.every(Boolean)
}
