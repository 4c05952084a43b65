/** A disk that fails under a running gateway (the kernel refuses it every write) and is well again. */
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishDesk,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type Desk, openDesk } from '#test/support/desk.ts'
import { CHARGE_NANOS, HELLO, startProvider } from './provider.ts'

/** Otherwise the first refused write would end the process: an ignored signal stays ignored in what is started. */
const IGNORING_ITS_SIGNAL = ['sh', '-c', `trap '' XFSZ; exec "$@"`, 'sh']
const canLimit = Bun.which('prlimit') !== null && process.platform === 'linux'

const provider = startProvider()
let desk: Desk
let gateway: Appliance

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  desk.close()
})

/** Lets no write beyond the first byte of a file through, or all of them. */
function limitWrites(limit: '1' | 'unlimited'): void {
  const { pid } = gateway
  const { exitCode } = Bun.spawnSync(['prlimit', `--pid=${pid}`, `--fsize=${limit}:unlimited`])
  if (exitCode !== 0) throw new Error('prlimit failed')
}

const isReady = async (): Promise<boolean> => (await fetch(`${gateway.url}/readyz`)).status === 200
const charges = () => chargesIn(desk)

test.skipIf(!canLimit)('a disk that fails is found out while nobody asks', async () => {
  desk = furnishDesk(openDesk())
  gateway = await startAppliance(desk, { under: IGNORING_ITS_SIGNAL })
  await provider.addTo(gateway)
  const { key } = await gateway.verb('keys.create', { name: 'worker' })
  const stream = await gateway.chat(key, { ...HELLO, stream: true })
  const generationId = stream.headers.get('x-generation-id')
  await until(() => openHolds(desk) === 1, 'its hold is written')

  limitWrites('1')
  await until(async () => !(await isReady()), 'it is not ready')
  // The very first to ask is refused: the provider hears of nobody.
  const refused = await gateway.chat(key, HELLO)
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({
    error: {
      code: 'store_unavailable',
      message: 'the gateway cannot write to its disk; nothing was taken or charged',
    },
  })
  expect(provider.asked).toBe(1)
  const act = desk.run(['balance', 'top-up', '5', '--ref', 'WHILE-IT-FAILS'])
  expect([act.code, act.err]).toEqual([4, expect.stringContaining('cannot write to its disk')])
  const ill = desk.run(['doctor'])
  expect(ill.code).toBe(6)
  expect(ill.out).toContain('✖ the gateway refuses requests: its disk fails')

  // What runs is heard to its end, and waits for its charge.
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
  expect(desk.run(['balance', 'top-up', '5', '--ref', 'WHILE-IT-FAILS']).code).toBe(0)
  expect(openHolds(desk)).toBe(0)
  expect(desk.run(['audit']).code).toBe(0)
  expect(desk.run(['doctor']).code).toBe(0)
})
