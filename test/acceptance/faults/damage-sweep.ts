/** Overwrites pages of a populated database with noise, one at a time, and compares what the gateway then says with the truth. */
import { Database } from 'bun:sqlite'
import { closeSync, cpSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY } from '#scripts/compile.ts'
import { furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

const PAGE_BYTES = 4_096
/** A page is damaged before the start, or while the gateway serves. */
export type Moment = 'start' | 'serving'
/** What overwrites a page: a write that went wrong, of all of it or of one sector, or an earlier state, when it had no rows. */
export type Damage = 'noise' | 'sector' | 'empty'

export interface Scene {
  readonly pages: number
  /** The page's table or index, and whether it holds what overflowed from a row; `free` for an unused one. */
  describe(page: number): { readonly owner: string; readonly isOverflow: boolean }
  /** What the gateway said or did that is not true; empty when it told the truth, or refused. */
  examine(page: number, moment: Moment, damage: Damage): Promise<readonly string[]>
  /** Pages after whose damage it did not start, and those after which it refused something. */
  readonly seen: { readonly unstarted: Set<number>; readonly refused: Set<number> }
  close(): void
}

interface Question {
  readonly name: string
  ask(gateway: Served): Promise<Answer>
}

interface Answer {
  readonly status: number
  /** Without what changes from one request to the next. */
  readonly text: string
}

interface Served {
  readonly url: string
  readonly authUrl: string
  readonly cli: CliHarness
}

/** The log fills a few hundred pages with these. */
const REQUESTS = 1_200
const KEYS = 150
const AT_ONCE = 40

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }

export async function openScene(): Promise<Scene> {
  const cli = furnishCli(openCli())
  const questions = await populate(cli)
  const clean = join(cli.home, 'clean')
  const file = (directory: string): string => join(directory, 'gateway.db')
  cpSync(cli.dataDir, clean, { recursive: true })
  const owners = readOwners(file(clean))
  const truth = new Map<string, Answer>()
  const seen = { unstarted: new Set<number>(), refused: new Set<number>() }

  /** Serves a fresh copy, whose page is overwritten before or after the start. */
  const serve = async (spoil: () => void, moment: Moment): Promise<Started> => {
    rmSync(cli.dataDir, { recursive: true, force: true })
    cpSync(clean, cli.dataDir, { recursive: true })
    if (moment === 'start') spoil()
    const started = await start(cli)
    if (moment === 'serving') {
      dropCache(file(cli.dataDir))
      spoil()
    }
    return started
  }

  const examine: Scene['examine'] = async (page, moment, damage) => {
    const started = await serve(() => overwrite(file(cli.dataDir), page, damage), moment)
    if (started.gateway === null) {
      seen.unstarted.add(page)
      const { code, said } = started
      const explained = code === 6 && /damaged/.test(said)
      return explained ? [] : [`serve ended with ${code}: ${said.trim().split('\n')[0]}`]
    }
    const wrong: string[] = []
    for (const { name, ask } of questions) {
      const answer = await ask(started.gateway).catch((cause: unknown) => ({
        status: 0,
        text: String(cause),
      }))
      const expected = truth.get(name)
      if (answer.status === expected?.status && isSame(answer.text, expected.text, damage)) continue
      seen.refused.add(page)
      if (answer.status === 503) continue
      wrong.push(`${name}: ${answer.status} ${difference(expected?.text ?? '', answer.text)}`)
    }
    const { code } = await started.gateway.end()
    return code === 0 ? wrong : [...wrong, `it ended with ${code}`]
  }

  const sound = await serve(() => {}, 'start')
  if (sound.gateway === null) throw new Error(`it does not start: ${sound.said}`)
  for (const { name, ask } of questions) truth.set(name, await ask(sound.gateway))
  await sound.gateway.end()
  return {
    pages: owners.length,
    describe: (page) => owners[page - 1] ?? { owner: 'free', isOverflow: false },
    examine,
    seen,
    close: () => cli.close(),
  }
}

/** What is smaller than a page may hide a line of the log from the count of a key without a limit. */
const isSame = (one: string, other: string, damage: Damage): boolean =>
  damage === 'sector' ? withoutCount(one) === withoutCount(other) : one === other

const withoutCount = (text: string): string => text.replace(/"requests_day": ?\d+/g, '')

/** Where the answer is first another than the truth. */
function difference(expected: string, text: string): string {
  const at = [...text].findIndex((char, at) => char !== expected[at])
  const from = Math.max(0, at - 40)
  return `${text.slice(from, from + 120)} instead of ${expected.slice(from, from + 120)}`
}

type Started =
  | { readonly gateway: null; readonly code: number; readonly said: string }
  | { readonly gateway: Served & { end(): Promise<{ code: number }> } }

const START_MS = 15_000

/** Starts it, and waits until it listens or has ended. */
async function start(cli: CliHarness): Promise<Started> {
  const child = Bun.spawn(
    [BINARY, 'serve', '--listen', '127.0.0.1:0', '--auth-listen', '127.0.0.1:0', '--log', 'json'],
    { cwd: cli.home, env: cli.env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  )
  const stderr = child.stderr.text()
  const reader = child.stdout.getReader()
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS)
  let said = ''
  const decoder = new TextDecoder()
  while (!said.includes('\n')) {
    const { done, value } = await reader.read()
    if (done) break
    said += decoder.decode(value, { stream: true })
  }
  clearTimeout(timer)
  const first = said.split('\n')[0] ?? ''
  if (first === '') return { gateway: null, code: await child.exited, said: await stderr }
  const read = async (): Promise<void> => {
    while (!(await reader.read()).done);
  }
  void read()
  const { base_url, auth_url } = JSON.parse(first) as { base_url: string; auth_url: string | null }
  return {
    gateway: {
      cli,
      url: base_url,
      authUrl: auth_url ?? '',
      async end() {
        child.kill('SIGTERM')
        const timer = setTimeout(() => child.kill('SIGKILL'), START_MS)
        const code = await child.exited
        clearTimeout(timer)
        return { code }
      },
    },
  }
}

const SECTOR_BYTES = 512
/** The header of an index page without rows, whose content begins at its end. */
const EMPTY_LEAF = Buffer.from([0x0a, 0, 0, 0, 0, 0x10, 0, 0])

function overwrite(path: string, page: number, damage: Damage): void {
  const bytes = Buffer.alloc(damage === 'sector' ? SECTOR_BYTES : PAGE_BYTES)
  if (damage === 'empty') EMPTY_LEAF.copy(bytes)
  else fillWithNoise(bytes, page)
  // Rows fill a page from its end.
  const from = damage === 'sector' ? PAGE_BYTES - SECTOR_BYTES * (1 + (page % 2)) : 0
  const descriptor = openSync(path, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, (page - 1) * PAGE_BYTES + from)
  closeSync(descriptor)
}

/** A commit by another process makes the gateway read every page anew; it would answer from memory otherwise. */
function dropCache(path: string): void {
  const database = new Database(path, { readwrite: true, create: false })
  database.run('PRAGMA busy_timeout = 10000')
  const { user_version: version } = database.query('PRAGMA user_version').get() as {
    user_version: number
  }
  database.run(`PRAGMA user_version = ${version}`)
  database.close(true)
}

/** The same noise in every run: xorshift, seeded with the page's number. */
function fillWithNoise(bytes: Buffer, seed: number): void {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  for (let at = 0; at < bytes.length; at++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[at] = state & 0xff
  }
}

/** Fills a directory that has a gateway, and answers what it will be asked. */
async function populate(cli: CliHarness): Promise<readonly Question[]> {
  const gateway = await startAppliance(cli)
  const worker = await gateway.verb('keys.create', { name: 'worker' })
  const capped = { name: 'capped', daily_spend_limit_usd: '0.002' }
  const keys = {
    worker: worker.key,
    capped: (await gateway.verb('keys.create', capped)).key,
    slow: (await gateway.verb('keys.create', { name: 'slow', rpd_limit: 1 })).key,
    narrow: (await gateway.verb('keys.create', { name: 'narrow', allowed_models: ['demo/image'] }))
      .key,
    gone: (await gateway.verb('keys.create', { name: 'gone' })).key,
    masters: (await gateway.verb('keys.create', { name: 'masters', kind: 'provisioning' })).key,
  }
  await gateway.verb('keys.revoke', { key: 'gone' })
  for (let n = 0; n < KEYS; n++) {
    await gateway.verb('keys.create', { name: `key-${n}`, note: 'n'.repeat(200), rpm_limit: 60 })
  }
  await gateway.verb('thresholds.set', { threshold_usd: '1', email: 'ops@example.org' })
  for (let n = 0; n < 40; n++) {
    await gateway.verb('users.add', { email: `p${n}@example.org`, name: `Person ${n}` })
  }
  await gateway.verb('clients.create', {
    name: 'Wiki',
    redirect_uris: ['https://wiki.example.org/callback'],
  })
  const client = (await gateway.verb('clients.list', {}))[0]
  for (let done = 0; done < REQUESTS; done += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, async (_, n) => {
      const asked = { ...hello, user: `user-${n}` }
      await (await gateway.chat(worker.key, asked)).text()
    })
    await Promise.all(some)
  }
  // Until the ceiling is reached by what was spent.
  while ((await gateway.chat(keys.capped, hello)).ok);
  await (await gateway.chat(keys.slow, hello)).text()
  const once = { headers: { ...bearer(worker.key), 'idempotency-key': 'once' } }
  const kept = await gateway.chat(worker.key, hello, once)
  const generationId = kept.headers.get('x-generation-id') ?? ''
  await kept.text()
  await gateway.stop()
  return toQuestions(keys, generationId, once, String(client?.client_id))
}

const bearer = (key: string) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
})

function toQuestions(
  keys: Readonly<Record<'worker' | 'capped' | 'slow' | 'narrow' | 'gone' | 'masters', string>>,
  generationId: string,
  once: RequestInit,
  clientId: string,
): readonly Question[] {
  const get = (name: string, path: string, key: string): Question => ({
    name,
    ask: ({ url }) => read(fetch(url + path, { headers: bearer(key) })),
  })
  const chat = (name: string, key: string, init: RequestInit = {}): Question => ({
    name,
    async ask({ url }) {
      const headers = bearer(key)
      const body = JSON.stringify(hello)
      const given = { method: 'POST', headers, body, ...init }
      return read(fetch(`${url}/chat/completions`, given), true)
    },
  })
  const cli = (...args: string[]): Question => ({
    name: `the command ${args.join(' ')}`,
    async ask({ cli }) {
      const { code, out, err } = await cli.runBeside([...args, '--json'])
      return { status: code === 0 ? 200 : code === 1 ? 503 : code, text: plain(out + err) }
    },
  })
  return [
    get('its own key', '/key', keys.worker),
    get('a key with a ceiling', '/key', keys.capped),
    get('models', '/models', keys.worker),
    get('models of a narrow key', '/models', keys.narrow),
    get('a model', '/models/demo/echo', keys.worker),
    get('a receipt', `/generation?id=${generationId}`, keys.worker),
    get('keys', '/keys?limit=20', keys.masters),
    // Reading first: chats move sums.
    cli('balance', 'show'),
    cli('keys', 'list'),
    cli('models', 'list'),
    cli('ledger', 'list'),
    cli('clients', 'list'),
    cli('users', 'list'),
    chat('a chat', keys.worker),
    chat('a chat beyond a ceiling', keys.capped),
    chat('a chat beyond a daily limit', keys.slow),
    chat('a chat with another model', keys.narrow),
    chat('a chat with a revoked key', keys.gone),
    chat('a chat that was paid for', keys.worker, once),
    {
      name: 'an application signs in',
      ask: ({ authUrl }) =>
        authUrl === ''
          ? Promise.resolve({ status: 503, text: 'store_unavailable' })
          : read(fetch(signInUrl(authUrl, clientId), { redirect: 'manual' })),
    },
  ]
}

const signInUrl = (authUrl: string, clientId: string): string =>
  `${authUrl}/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://wiki.example.org/callback',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URW_buGJSstw-c',
    code_challenge_method: 'S256',
  })}`

async function read(asked: Promise<Response>, isChat = false): Promise<Answer> {
  const answer = await asked
  const text = await answer.text()
  const isSame = isChat && answer.ok
  return { status: answer.status, text: isSame ? 'an answer' : plain(text) }
}

/** Without ids of requests and sign-ins, and without what time moves. */
const plain = (text: string): string =>
  VOLATILE.reduce((plain, each) => plain.replace(each, ''), text)

const VOLATILE = [
  /req_\w+/g,
  /frees in \d+ s/g,
  /\/sign-in\/\S+/g,
  /"(last_used_at|resets_at)": ?("[^"]*"|null)/g,
  /"reset\w*": ?\d+/g,
  /"(?:requests|tokens)_minute": ?\d+/g,
  // The pace of a day that is not over.
  /"seconds": ?\d+/g,
  /"mean_day_usd": ?"[^"]*"/g,
]

/** To what each page belongs, by the engine's own table of pages. */
function readOwners(path: string) {
  const database = new Database(path, { readonly: true })
  try {
    const { pages } = database.query('SELECT page_count AS pages FROM pragma_page_count').get() as {
      pages: number
    }
    const owners = Array.from({ length: pages }, () => ({ owner: 'free', isOverflow: false }))
    const rows = database.query('SELECT name, pageno, pagetype FROM dbstat').all() as {
      name: string
      pageno: number
      pagetype: string
    }[]
    for (const { name, pageno, pagetype } of rows)
      owners[pageno - 1] = { owner: name, isOverflow: pagetype === 'overflow' }
    return owners
  } finally {
    database.close()
  }
}
