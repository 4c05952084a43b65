/** A provider whose host name does not resolve for a while: reported as such, not charged, and over once it resolves. */
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

/** Reserved by RFC 6761, so it never resolves; a hosts file may still define it. */
const NAME = 'provider.invalid'
const OWN_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'
/** A hosts file that only the gateway sees needs a mount namespace of its own. */
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

test.skipIf(!canUnshare)(
  'a host name that does not resolve is an error without a charge, until it resolves',
  async () => {
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
    // The provider's address is the operator's data, and not shown.
    expect(body).not.toContain(NAME)
    expect([charges(), openHolds(cli), provider.asked]).toEqual([[], 0, 0])
    const tested = cli.run(['providers', 'test', 'acme'])
    expect([tested.code, tested.out]).toEqual([6, expect.stringMatching(/ENOTFOUND/)])

    writeFileSync(hosts, `127.0.0.1 localhost ${NAME}\n`)
    expect((await gateway.chat(key, HELLO)).status).toBe(200)
    expect(charges()).toEqual([{ amount_nanos: -CHARGE_NANOS }])
    expect(openHolds(cli)).toBe(0)
    expect((await cli.runBeside(['providers', 'test', 'acme'])).code).toBe(0)
  },
)
