// The schema of a served database, changed by hand with a tool of somebody's own: doctor names each part.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
afterEach(() => cli.close())

test('doctor names what was dropped and what was added, with the gateway down and up', async () => {
  furnishCli(cli)
  expect(cli.run(['backup', join(cli.home, 'before.db')]).code).toBe(0)
  expect(cli.run(['doctor']).code).toBe(0)
  const database = new Database(join(cli.dataDir, 'gateway.db'))
  database.run('DROP TRIGGER ledger_is_append_only_update')
  database.run('DROP INDEX keys_by_name')
  database.run('CREATE INDEX mine ON keys (note)')
  database.close(true)

  const missing =
    '✖ the schema differs from the one gatewayctl created: index keys_by_name of keys is missing; trigger ledger_is_append_only_update of ledger is missing\n    next: stop the gateway, then gatewayctl backup --restore FILE'
  const added = '! the schema has objects that gatewayctl did not create: index mine of keys'
  const expectNamed = (): void => {
    const { code, out } = cli.run(['doctor'])
    expect([code, out]).toEqual([6, expect.stringContaining(missing)])
    expect(out).toContain(added)
  }
  expectNamed()
  const gateway = await startAppliance(cli)
  expectNamed()
  expect(await gateway.stop()).toBe(0)

  const restored = ['backup', '--restore', join(cli.home, 'before.db'), '--confirm', 'gateway.db']
  expect(cli.run(restored).code).toBe(0)
  expect(cli.run(['doctor']).code).toBe(0)
})
