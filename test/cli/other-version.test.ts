/** A gateway that was not restarted after an upgrade, or is newer: what it answers may have another shape. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Context } from '#cli/context.ts'
import { seeVersion, unreadableAnswer } from '#cli/gateway/served-version.ts'
import { BINARY } from '#scripts/compile.ts'
import { SNAPSHOT } from '#test/cli/dashboard/fixed-snapshot.ts'
import { openCli } from '#test/support/cli-harness.ts'

/** A gateway that gives every command this answer. */
function serve(answer: object, headers: Record<string, string>) {
  const cli = openCli()
  const run = join(cli.dataDir, 'run')
  mkdirSync(run, { recursive: true })
  const server = Bun.serve({
    unix: join(run, 'admin.sock'),
    fetch: () => new Response(`${JSON.stringify(answer)}\n`, { headers }),
  })
  onTestFinished(async () => {
    await server.stop(true)
    cli.close()
  })
  return cli
}

const VERSION = Bun.spawnSync([BINARY, '--version']).stdout.toString().trim()
const NEWER = { 'x-gateway-version': '9.9.9' }

test('a command says once that the gateway is of another version, but not in data', async () => {
  const older = `! the running gateway is of an older version, this command of v${VERSION}: restart the gateway with the newer one\n`
  const rate = {
    pair: 'USD/RUB',
    rub_per_usd: '90',
    effective_from: null,
    set_by_operator: false,
    history: [],
  }
  const cli = serve(rate, {})
  expect((await cli.runBeside(['rates'])).err).toBe(older)
  expect((await cli.runBeside(['rates', '--json'])).err).toBe('')
  const newer = serve(rate, NEWER)
  expect((await newer.runBeside(['rates'])).err).toContain('is of v9.9.9, this command of')
  const same = serve(rate, { 'x-gateway-version': VERSION })
  expect((await same.runBeside(['rates'])).err).toBe('')
})

test('an answer that cannot be read is no crash, and --debug shows where it was read', async () => {
  const cli = serve({ running: true, healthy: true }, NEWER)
  const { code, err } = await cli.runBeside(['status', '--debug'])
  expect(code).toBe(1)
  expect(err).toContain('TypeError')
  expect(err).toContain(
    `error: what the running gateway answers, of v9.9.9, cannot be read by v${VERSION}\nhint: restart`,
  )
})

test('what fails beside it for another reason keeps that', () => {
  seeVersion({ quiet: true } as Context, new Response())
  expect(unreadableAnswer(new Error('EPERM: operation not permitted'))).toBeNull()
  const lost = Object.assign(new TypeError('the socket was closed'), { code: 'ECONNRESET' })
  expect(unreadableAnswer(lost)).toBeNull()
  expect(unreadableAnswer(new RangeError('Invalid Date'))?.code).toBe('other_version')
})

test('and says what was carried out', async () => {
  const cli = serve({}, NEWER)
  const { code, err } = await cli.runBeside(['limits', 'set', 'prod-web', '--rpm', '5', '--debug'])
  expect(code).toBe(1)
  expect(err).toContain('TypeError')
  expect(err).toContain('limits set was carried out, but its output is lost: what the running')
})

const { notices: _, ...WITHOUT_PART } = SNAPSHOT
test.each([
  ['the part that is newest', WITHOUT_PART],
  ['a field of a part', { ...SNAPSHOT, money: {} }],
])('a snapshot without %s is refused by the dashboard', async (_without, older) => {
  const cli = serve(older, {})
  const { code, err } = await cli.runBeside(['dashboard', '--once', '--debug'])
  expect(code).toBe(1)
  expect(err).toMatch(/^! the running gateway is of an older version, this command of /)
  expect(err).toContain('error: what the running gateway answers, of an older version, cannot be')
  if (older === WITHOUT_PART) expect(err).toContain('its snapshot has no "notices"')
})

test('activity kill says it too', async () => {
  const { err } = await serve({}, NEWER).runBeside(['activity', 'kill', 'gen-1', '--yes'])
  expect(err).toMatch(/^! the running gateway is of v9.9.9/)
})
