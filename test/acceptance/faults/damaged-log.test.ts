/** The write-ahead log that a killed gateway left, overwritten or cut short: commits that were acknowledged never vanish unsaid. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

const HEADER_BYTES = 32
const FRAME_BYTES = 24 + 4_096
const FILES = ['gateway.db', 'gateway.db-wal', 'gateway.db-shm', 'gateway.db-boot'] as const
type File = (typeof FILES)[number]

let cli: CliHarness
let gateway: Appliance
let key: string
const left = new Map<File, Buffer>()

const place = (file: File): string => join(cli.dataDir, file)

beforeAll(async () => {
  cli = furnishCli(openCli())
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'worker' })).key
  for (const name of ['spare', 'old']) await gateway.verb('keys.create', { name })
  await gateway.kill()
  for (const file of FILES) left.set(file, readFileSync(place(file)))
  expect(sizeOf('gateway.db-wal')).toBeGreaterThan(HEADER_BYTES + 8 * FRAME_BYTES)
})
afterAll(() => cli.close())
beforeEach(() => {
  for (const [file, bytes] of left) writeFileSync(place(file), bytes)
})

const sizeOf = (file: File): number => left.get(file)?.length ?? 0

function overwrite(file: File, from: number, to: number): void {
  const bytes = readFileSync(place(file))
  for (let at = from; at < to; at++) bytes[at] = (bytes[at] ?? 0) ^ (1 + ((at * 167) % 255))
  writeFileSync(place(file), bytes)
}

const cut = (file: File, to: number): void =>
  writeFileSync(place(file), readFileSync(place(file)).subarray(0, to))

const frame = (at: number): number => HEADER_BYTES + at * FRAME_BYTES

test.each<readonly [string, () => void]>([
  ['noise', () => overwrite('gateway.db-wal', 0, sizeOf('gateway.db-wal'))],
  ['noise in its header', () => overwrite('gateway.db-wal', 0, HEADER_BYTES)],
  ['noise in its first page', () => overwrite('gateway.db-wal', frame(0), frame(1))],
  ['noise in a page in the middle', () => overwrite('gateway.db-wal', frame(5), frame(6))],
  ['one byte of a page', () => overwrite('gateway.db-wal', frame(5) + 99, frame(5) + 100)],
  ['cut within a page', () => cut('gateway.db-wal', frame(5) + 99)],
  ['cut between two pages', () => cut('gateway.db-wal', frame(5))],
  ['cut within its header', () => cut('gateway.db-wal', 9)],
  ['emptied', () => cut('gateway.db-wal', 0)],
  ['removed', () => rmSync(place('gateway.db-wal'))],
])('a log with %s: no command and no server takes what is left for the whole', (_, spoil) => {
  spoil()
  for (const command of [
    ['keys', 'list'],
    ['backup', join(cli.home, 'copy.db')],
  ]) {
    const { code, err } = cli.run(command)
    expect([command[0], code, err]).toEqual([command[0], 1, expect.stringContaining('is damaged')])
  }
  expect(existsSync(join(cli.home, 'copy.db'))).toBe(false)
  // It reads beside a server, without a lock, and must leave what tells of the damage.
  expect(cli.run(['__complete', '--', 'keys', 'show', '']).code).toBe(0)
  const { code, err } = cli.run(['serve', '--listen', '127.0.0.1:0'])
  expect([code, err]).toEqual([6, expect.stringContaining('database is damaged')])
  expect(cli.run(['doctor']).code).toBe(6)
})

test.each<readonly [string, () => void]>([
  ['nothing wrong', () => {}],
  ['noise', () => overwrite('gateway.db-shm', 0, sizeOf('gateway.db-shm'))],
  ['noise in its header', () => overwrite('gateway.db-shm', 0, 136)],
  ['noise in one copy of its header', () => overwrite('gateway.db-shm', 48, 96)],
  ['noise in its tables', () => overwrite('gateway.db-shm', 136, sizeOf('gateway.db-shm'))],
  ['cut short', () => cut('gateway.db-shm', 99)],
  ['emptied', () => cut('gateway.db-shm', 0)],
  ['removed', () => rmSync(place('gateway.db-shm'))],
])('an index of the log with %s: it is made anew, and all is served', async (_, spoil) => {
  spoil()
  gateway = await startAppliance(cli)
  expect(
    (await gateway.chat(key, { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }))
      .status,
  ).toBe(200)
  await gateway.kill()
})

test('after another boot a log may end where a power cut left it', async () => {
  writeFileSync(place('gateway.db-boot'), 'another')
  cut('gateway.db-wal', sizeOf('gateway.db-wal') - 99)
  gateway = await startAppliance(cli)
  await gateway.kill()
  expect(readFileSync(place('gateway.db-boot'))).toEqual(left.get('gateway.db-boot'))
})
