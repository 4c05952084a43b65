// What a command loads: the chunks of the binary lie side by side here, and each one that is loaded is written down.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chunksInto } from '#scripts/compile.ts'

const TRACER = fileURLToPath(new URL('children/trace-chunks.ts', import.meta.url))

let home: string
let sources: ReadonlyMap<string, readonly string[]>

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'gwctl-chunks-'))
  sources = await chunksInto(join(home, 'chunks'))
  // Started by `serve`, which looks for it beside its own chunk.
  copyFileSync(
    'db/sqlite/engine/log-checkpoint-thread.ts',
    join(home, 'chunks', 'log-checkpoint-thread.ts'),
  )
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

let runs = 0

/** Starts a command in the gateway that `init` furnished, and tells which sources it has loaded so far. */
function start(args: readonly string[]) {
  const trace = join(home, `trace-${++runs}`)
  const child = Bun.spawn(
    [process.execPath, '--preload', TRACER, join(home, 'chunks', 'main.js'), ...args],
    {
      cwd: home,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        GATEWAY_DATA_DIR: join(home, 'data'),
        CHUNK_TRACE: trace,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const loaded = (): readonly string[] =>
    [...new Set(readFileSync(trace, 'utf8').trim().split('\n'))].flatMap(
      (chunk) => sources.get(chunk) ?? [`unknown ${chunk}`],
    )
  return { child, loaded }
}

async function loadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const { child, loaded } = start(args)
  const [, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`${args.join(' ')}: ${err}`)
  return loaded()
}

/** The sign-in provider, the library that speaks to third parties, and what of ours stands on them. */
const SIGN_IN =
  /node_modules\/(?:oidc-provider|oauth4webapi|koa|jose)\/|server\/signin\/(?!register\/|store)/

const signInOf = (loaded: readonly string[]): readonly string[] =>
  loaded.filter((source) => SIGN_IN.test(source))

test('the chunks hold the provider, so that not to load it is a choice', async () => {
  const all = [...sources.values()].flat()
  for (const name of ['oidc-provider', 'oauth4webapi', '@simplewebauthn/server']) {
    expect(all.some((source) => source.includes(`node_modules/${name}/`))).toBe(true)
  }
})

test('commands that only read or write the books load nothing of the sign-in', async () => {
  await loadedBy('init')
  const list = await loadedBy('keys', 'list')
  expect(list).toContain('cli/keys/list.ts')
  expect(list.filter((source) => source.startsWith('unknown'))).toEqual([])
  expect(signInOf(list)).toEqual([])
  // Of one node: each file that it does not load is a third of a millisecond.
  expect(list.filter((source) => /watch-nodes|snapshot\/(?:pulse|figures)/.test(source))).toEqual(
    [],
  )
  // Three milliseconds.
  expect(list.filter((source) => readFileSync(source, 'utf8').includes("'node:crypto'"))).toEqual(
    [],
  )
  for (const command of [
    '--version',
    'keys --help',
    'models list',
    'balance show',
    'clients list',
  ]) {
    expect([command, signInOf(await loadedBy(...command.split(' ')))]).toEqual([command, []])
  }
})

test('serve loads the provider, and what speaks to third parties or of passkeys only when one is there', async () => {
  const { child, loaded } = start([
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--auth-listen',
    '127.0.0.1:0',
  ])
  try {
    let said = ''
    for await (const piece of child.stdout) {
      said += Buffer.from(piece).toString()
      if (said.includes('"msg":"listening"')) break
    }
    const has = (name: string): boolean =>
      loaded().some((source) => source.includes(`node_modules/${name}/`))
    expect(said).toContain('"auth_url":"http')
    expect(has('oidc-provider')).toBe(true)
    expect(has('oauth4webapi')).toBe(false)
    expect(has('@simplewebauthn/server')).toBe(false)
  } finally {
    child.kill()
    await child.exited
  }
})

test('serve loads nothing of metrics and traces unless asked to, and what writes metrics with the first scrape', async () => {
  const serve = async (...flags: readonly string[]) => {
    const { child, loaded } = start([
      'serve',
      '--demo',
      '--listen',
      '127.0.0.1:0',
      '--auth-listen',
      'off',
      ...flags,
    ])
    let said = ''
    const heard = (async () => {
      for await (const piece of child.stdout) {
        said += Buffer.from(piece).toString()
        if (said.includes('listening;')) break
      }
    })()
    await heard
    const has = (part: string): boolean => loaded().some((source) => source.includes(part))
    return { child, has }
  }
  const plain = await serve()
  expect(plain.has('server/telemetry/')).toBe(false)
  plain.child.kill()

  const watched = await serve('--metrics-listen', '127.0.0.1:0')
  try {
    expect(['tally.ts', 'tracer.ts', 'exposition.ts'].filter(watched.has)).toEqual(['tally.ts'])
    const reader = watched.child.stderr.getReader()
    const told = Buffer.from((await reader.read()).value ?? []).toString()
    const url = /metrics on (\S+)/.exec(told)?.[1] ?? ''
    expect((await fetch(url)).status).toBe(200)
    expect(watched.has('exposition.ts')).toBe(true)
  } finally {
    watched.child.kill()
    await Promise.all([plain.child.exited, watched.child.exited])
  }
})
