// The traps that other gateways fell into: each one is proved by a test that bears its number.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import project from '../../package.json' with { type: 'json' }

const numbered = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${letter}${n + 1}`)

/** T: what made gateways leak, overspend or fall over. W: what got lost on the way from one wire to another. */
const TRAPS = [...numbered('T', 50), ...numbered('W', 32)]

const filesIn = (room: string): readonly string[] =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${room}/${name}`)

const read = (file: string): string => readFileSync(file, 'utf8')

/** The numbers that begin the titles of a file's tests: `'T3, T41: an address is …'`. */
const provedIn = (file: string): ReadonlySet<string> =>
  new Set(
    [...read(file).matchAll(/['"`]((?:[TW]\d+(?:, )?)+): /g)].flatMap(([, list = '']) =>
      list.split(', '),
    ),
  )

const proofs = new Map(filesIn('test').map((file) => [file, provedIn(file)]))

/** The rows of docs/traps.md: a trap, what it is, the files that prove it. */
const rows = new Map(
  [...read('docs/traps.md').matchAll(/^\| ([TW]\d+) \| .+? \| (.+) \|$/gm)].map(
    ([, trap = '', where = '']) => [
      trap,
      [...where.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? ''),
    ],
  ),
)

test('every trap has its row', () => {
  expect([...rows.keys()]).toEqual(TRAPS)
})

test.each([...rows])('%s is proved where the page says', (trap, files) => {
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) {
    expect([file, [...(proofs.get(`test/${file}`) ?? [])]]).toEqual([
      file,
      expect.arrayContaining([trap]),
    ])
  }
})

test('no title bears the number of a trap that there is not', () => {
  const odd = [...proofs].flatMap(([file, traps]) =>
    [...traps].filter((trap) => !TRAPS.includes(trap)).map((trap) => `${file}: ${trap}`),
  )
  expect(odd).toEqual([])
})

const ROOMS = ['cli', 'server', 'db'].flatMap(filesIn)

/** Text without its comments, which may speak of what code must not do. */
const code = (file: string): string =>
  read(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')

const filesWith = (pattern: RegExp): readonly string[] =>
  ROOMS.filter((file) => pattern.test(code(file))).toSorted()

test('T19: one road leads upstream, and every limit stands on it', () => {
  // Who opens an upstream, who asks for that, who walks, who starts a walk.
  expect(filesWith(/\bupstreamFor\(/)).toEqual([
    'server/domain/walk/attempt.ts',
    // What counts a prompt costs nothing.
    'server/domain/walk/count.ts',
  ])
  // The second passes on what was asked while it opened.
  expect(filesWith(/\b(?:upstream|upstreamFor\(.*\))\.ask\(/)).toEqual([
    'server/domain/walk/attempt.ts',
    'server/upstream/registry.ts',
  ])
  expect(filesWith(/\bimport \{[^}]*\baskFirst\b[^}]*\}/)).toEqual([
    'server/domain/walk/completion.ts',
  ])
  expect(filesWith(/\bimport \{[^}]*\brunWalk\b[^}]*\}/)).toEqual([
    'server/http/surfaces/answer-stream.ts',
    'server/http/surfaces/answer.ts',
  ])
  expect(filesWith(/\brunning\.add\(/)).toEqual(['server/http/surfaces/answer.ts'])
  // On it the verdict comes before the first provider is asked.
  const walk = code('server/domain/walk/completion.ts')
  expect(filesWith(/\badmissions\.admit\(/)).toEqual(['server/domain/admission-queue.ts'])
  expect(filesWith(/\bqueue\.ask\(/)).toEqual(['server/domain/walk/completion.ts'])
  expect(walk.indexOf('queue.ask(walk)')).toBeGreaterThan(0)
  expect(walk.indexOf('queue.ask(walk)')).toBeLessThan(walk.indexOf('passAnswer(admitted, reader)'))
  expect(walk.indexOf('passAnswer(admitted, reader)')).toBeLessThan(walk.indexOf('askFirst(walk'))
})

test('T38: nothing runs a command, a template or code that came as text', () => {
  expect(
    filesWith(
      /child_process|\bBun\.(?:spawn|spawnSync|\$)|\bnode:vm\b|worker_threads|createObjectURL/,
    ),
    // This program itself, once more, with arguments of ours.
  ).toEqual(['cli/serve/processes.ts'])
  // The log is folded on a thread, which runs a file of ours.
  expect(filesWith(/new Worker\((?!THREAD\))/)).toEqual([])
  expect(filesWith(/new Worker\(/)).toEqual(['db/sqlite/engine/log-checkpoint.ts'])
  expect(filesWith(/\beval\(|new Function\(|\bsetTimeout\(\s*['"`]/)).toEqual([])
  expect(filesWith(/\bimport\(\s*[^'"\s]/)).toEqual([])
  expect(filesWith(/\.execve?\(|\bexecve\(/)).toEqual([])
})

test('T40: no text becomes part of an SQL statement by way of the query builder', () => {
  expect(filesWith(/\bsql\.(?:raw|identifier)\b|\.as\(/)).toEqual([])
})

test.each([
  ['drizzle-orm', '0.45.4', 'T40: names were not escaped before'],
  ['hono', '4.12.21', 'T37, T41: a body in chunks, mounted paths and IPv6 were misread before'],
] as const)('%s is at least %s (%s)', (name, least, _why) => {
  const parts = (version: string) => version.split('.').map(Number)
  const [now, then] = [parts(project.dependencies[name]), parts(least)]
  const at = now.findIndex((part, place) => part !== then[place])
  expect(at === -1 || (now[at] ?? 0) > (then[at] ?? 0)).toBe(true)
})
