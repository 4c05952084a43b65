/** A provider whose name leads nowhere for a while: told as such, free of charge, and over as soon as it leads somewhere. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { CHARGE_NANOS, HELLO, startProvider } from './provider.ts'

/** By RFC 6761 nobody has it; a table of hosts may all the same. */
const NAME = 'provider.invalid'
const OWN_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'
/** A table of hosts that only the gateway sees takes a room of its own for it. */
const canUnshare =
  Bun.which('unshare') !== null && Bun.spawnSync(['unshare', '--mount', 'true']).exitCode === 0

let cli: CliHarness
let gateway: Appliance
const provider = startProvider()

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

const charges = (): readonly { amount_nanos: number }[] =>
  chargesIn(cli).map(({ amount_nanos }) => ({ amount_nanos }))

test.skipIf(!canUnshare)('a name that nobody knows, and then somebody does', async () => {
  cli = furnishCli(openCli())
  const hosts = join(cli.home, 'hosts')
  writeFileSync(hosts, '127.0.0.1 localhost\n')
  gateway = await startAppliance(cli, {
    under: ['unshare', '--mount', 'sh', '-c', OWN_HOSTS, hosts],
  })
  await provider.addTo(gateway, NAME)
  const { key } = await gateway.verb('keys.create', { name: 'worker' })

  const lost = await gateway.chat(key, HELLO)
  expect([502, 503]).toContain(lost.status)
  const body = await lost.text()
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'upstream_error' } })
  // Where the operator's providers lie is nobody else's affair.
  expect(body).not.toContain(NAME)
  expect([charges(), openHolds(cli), provider.asked]).toEqual([[], 0, 0])
  const tested = cli.run(['providers', 'test', 'acme'])
  expect([tested.code, tested.out]).toEqual([6, expect.stringMatching(/ENOTFOUND/)])

  writeFileSync(hosts, `127.0.0.1 localhost ${NAME}\n`)
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(charges()).toEqual([{ amount_nanos: -CHARGE_NANOS }])
  expect(openHolds(cli)).toBe(0)
  expect((await cli.runBeside(['providers', 'test', 'acme'])).code).toBe(0)
})
