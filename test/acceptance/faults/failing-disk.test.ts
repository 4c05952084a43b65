/** A disk that fails under a running gateway (the kernel refuses every write), and then works again. */
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { CHARGE_NANOS, HELLO, startProvider } from './provider.ts'

/** Otherwise the first refused write would end the process: an ignored signal stays ignored in child processes. */
const IGNORING_ITS_SIGNAL = ['sh', '-c', `trap '' XFSZ; exec "$@"`, 'sh']
const canLimit = Bun.which('prlimit') !== null && process.platform === 'linux'

const provider = startProvider()
let cli: CliHarness
let gateway: Appliance

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

/** Refuses every write beyond the first byte of a file, or allows all of them. */
function limitWrites(limit: '1' | 'unlimited'): void {
  const { pid } = gateway
  const { exitCode } = Bun.spawnSync(['prlimit', `--pid=${pid}`, `--fsize=${limit}:unlimited`])
  if (exitCode !== 0) throw new Error('prlimit failed')
}

const isReady = async (): Promise<boolean> => (await fetch(`${gateway.url}/readyz`)).status === 200
const ask = (url: string) => fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(5_000) })
const charges = () => chargesIn(cli)

test.skipIf(!canLimit)('a disk that fails is detected while there are no requests', async () => {
  cli = furnishCli(openCli())
  const flags = ['--auth-listen', '127.0.0.1:0']
  gateway = await startAppliance(cli, { under: IGNORING_ITS_SIGNAL, flags })
  await provider.addTo(gateway)
  const { key } = await gateway.verb('keys.create', { name: 'worker' })
  const stream = await gateway.chat(key, { ...HELLO, stream: true })
  const generationId = stream.headers.get('x-generation-id')
  await until(() => openHolds(cli) === 1, 'its hold is written')

  limitWrites('1')
  await until(async () => !(await isReady()), 'it is not ready')
  // Already the first request is refused: the provider gets none.
  const refused = await gateway.chat(key, HELLO)
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({
    error: {
      code: 'store_unavailable',
      message: 'the gateway cannot write to its disk; nothing was taken or charged',
    },
  })
  expect(provider.asked).toBe(1)
  // People who sign in are refused too, instead of waiting; applications can still check their tokens.
  const authUrl = /"auth_url":"([^"]+)"/.exec(gateway.said())?.[1] ?? ''
  const signIn = await ask(`${authUrl}/oauth/authorize?client_id=wiki`)
  expect([signIn.status, signIn.headers.get('retry-after')]).toEqual([503, '5'])
  expect((await ask(`${authUrl}/oauth/jwks`)).status).toBe(200)
  expect((await ask(`${authUrl}/.well-known/openid-configuration`)).status).toBe(200)

  const act = cli.run(['balance', 'top-up', '5', '--ref', 'WHILE-IT-FAILS'])
  expect([act.code, act.err]).toEqual([4, expect.stringContaining('cannot write to its disk')])
  const ill = cli.run(['doctor'])
  expect(ill.code).toBe(6)
  expect(ill.out).toContain('✖ the gateway refuses requests: its disk fails')

  // A running answer is read to its end, and waits for its charge.
  let text = ''
  const heard = stream.text().then((all) => {
    text = all
  })
  provider.release()
  await until(() => provider.ended === 1, 'the provider has said everything')
  expect(await isReady()).toBe(false)
  expect([text, charges()]).toEqual(['', []])

  limitWrites('unlimited')
  await heard
  expect(text).toContain('[DONE]')
  expect(charges()).toEqual([{ generation_id: generationId, amount_nanos: -CHARGE_NANOS }])
  await until(isReady, 'it is ready again')
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(cli.run(['balance', 'top-up', '5', '--ref', 'WHILE-IT-FAILS']).code).toBe(0)
  expect(openHolds(cli)).toBe(0)
  expect(cli.run(['audit']).code).toBe(0)
  expect(cli.run(['doctor']).code).toBe(0)
})
