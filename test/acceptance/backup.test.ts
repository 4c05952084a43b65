/** A backup of a serving gateway: taken under load, killed half-way, restored to sums that add up. */
import { Database } from 'bun:sqlite'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { chargesIn, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

function freshCli(): CliHarness {
  const cli = furnishCli(openCli())
  onTestFinished(() => cli.close())
  return cli
}

const chargesOf = (cli: CliHarness): number => chargesIn(cli).length

test('taken under load, it restores to a store whose audit is clean, with every charge answered before', async () => {
  const cli = freshCli()
  const secret = cli.run(['keys', 'create', 'load', '-q']).out.trim()
  const appliance = await startAppliance(cli)
  onTestFinished(() => appliance.kill())
  let isOver = false
  let answered = 0
  const work = async (): Promise<void> => {
    while (!isOver) {
      const answer = await appliance.chat(secret, {
        model: 'demo/echo',
        messages: [{ role: 'user', content: 'one two three' }],
      })
      await answer.text()
      if (answer.status === 200) answered++
      await Bun.sleep(5)
    }
  }
  const load = [1, 2, 3, 4].map(work)
  await until(() => answered > 50, 'there is something to copy')
  const before = answered
  const { code, err } = await cli.runBeside(['backup', 'under-load.db', '--verify'])
  expect(err).toContain('✓ backup taken')
  expect(code).toBe(0)
  const during = answered - before
  expect(during).toBeGreaterThan(0)

  const refused = await cli.runBeside([
    'backup',
    '--restore',
    'under-load.db',
    '--confirm',
    'gateway.db',
  ])
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain(`error: a gateway is using ${cli.dataDir}: stop it first`)
  isOver = true
  await Promise.all(load)
  expect(await appliance.stop()).toBe(0)
  const atTheEnd = chargesOf(cli)
  expect(atTheEnd).toBe(answered)

  const restored = await cli.runBeside([
    'backup',
    '--restore',
    'under-load.db',
    '--confirm',
    'gateway.db',
  ])
  expect(restored.code).toBe(0)
  expect(cli.run(['audit']).code).toBe(0)
  const charges = chargesOf(cli)
  expect(charges).toBeGreaterThanOrEqual(before)
  expect(charges).toBeLessThan(atTheEnd)
  const again = await startAppliance(cli)
  onTestFinished(() => again.kill())
  expect(
    (await again.chat(secret, { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }))
      .status,
  ).toBe(200)
})

const BALLAST_MB = 120

test('kill -9 in the middle of it leaves nothing under its name, and the gateway none the worse', async () => {
  const cli = freshCli()
  const database = new Database(join(cli.dataDir, 'gateway.db'))
  database.run('CREATE TABLE ballast (bytes BLOB)')
  for (let mb = 0; mb < BALLAST_MB; mb++) {
    database.run('INSERT INTO ballast VALUES (zeroblob(1000000))')
  }
  database.close(true)
  const appliance = await startAppliance(cli)
  onTestFinished(() => appliance.kill())
  const partials = (): string[] => readdirSync(cli.home).filter((name) => name.endsWith('.partial'))
  const child = Bun.spawn([BINARY, 'backup', 'killed.db'], {
    cwd: cli.home,
    env: cli.env,
    stdin: 'ignore',
  })
  await until(
    () => statSync(join(cli.home, partials()[0] ?? '')).size > 1_000_000 && partials().length === 1,
    'it is half-way',
  )
  child.kill('SIGKILL')
  await child.exited
  expect(readdirSync(cli.home)).not.toContain('killed.db')
  expect(partials()).toHaveLength(1)
  expect(await appliance.verb('audit', {})).toMatchObject({ clean: true })
  expect((await cli.runBeside(['backup', 'killed.db', '--verify'])).code).toBe(0)
})
