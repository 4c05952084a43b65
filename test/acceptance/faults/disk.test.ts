/** A real disk that is full, nearly full, or read-only: requests are refused before anything is bought, and the gateway recovers. */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { CHARGE_NANOS, type CountedProvider, HELLO, startProvider } from './provider.ts'
import { openSmallDisk, type SmallDisk } from './small-disk.ts'

/** Enough for doctor to find nothing wrong while the disk is empty. */
const DISK_MEBIBYTES = 400

const canMount = (() => {
  const disk = openSmallDisk(1)
  disk?.close()
  return disk !== undefined
})()

let disk: SmallDisk
let gateway: Appliance
let provider: CountedProvider
let key: string

async function open(): Promise<void> {
  const opened = openSmallDisk(DISK_MEBIBYTES)
  if (!opened) throw new Error('nothing may be mounted')
  disk = opened
  furnishCli(disk.cli)
  provider = startProvider()
  gateway = await startAppliance(disk.cli)
  await provider.addTo(gateway)
  key = (await gateway.verb('keys.create', { name: 'worker', concurrency_limit: 10 })).key
}

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  disk.close()
})

const isReady = async (): Promise<boolean> => (await fetch(`${gateway.url}/readyz`)).status === 200
const ask = () => gateway.chat(key, HELLO)
const charges = () => chargesIn(disk.cli)

interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string }
}

/** Refused with the reason, and the provider got no request. */
async function expectRefusal(reason: string): Promise<void> {
  const before = provider.asked
  const response = await ask()
  const { error } = (await response.json()) as ErrorBody
  expect([response.status, error.code]).toEqual([503, 'store_unavailable'])
  expect(error.message).toContain(reason)
  expect(response.headers.get('retry-after')).toBe('5')
  expect(provider.asked).toBe(before)
}

/** A running stream whose first content has arrived. */
async function startStream() {
  const response = await gateway.chat(key, { ...HELLO, stream: true })
  const id = response.headers.get('x-generation-id') ?? ''
  const reader = response.body?.getReader()
  if (!reader) throw new Error('no body')
  const decoder = new TextDecoder()
  let text = ''
  const readUntil = async (word: string): Promise<void> => {
    while (!text.includes(word)) {
      const { done, value } = await reader.read()
      if (done) throw new Error(`it ended without ${word}: ${text}`)
      text += decoder.decode(value, { stream: true })
    }
  }
  await readUntil('one')
  return { id, end: () => readUntil('[DONE]'), soFar: () => text }
}

const doctor = () => disk.cli.run(['doctor'])

test.skipIf(!canMount)(
  'a disk that fills up: new requests are refused, running ones are still charged',
  async () => {
    await open()
    expect((await ask()).status).toBe(200)
    const whole = await startStream()
    const stuck = await startStream()

    // Nearly full: no request is started, but running ones are still written, and so are the operator's changes.
    disk.fill(8)
    await until(async () => !(await isReady()), 'it is not ready')
    await expectRefusal('disk is full')
    await gateway.verb('balance.top-up', { amount_usd: '1', ref: 'NEARLY-FULL' })
    const ill = doctor()
    expect(ill.code).toBe(6)
    expect(ill.out).toMatch(
      /✖ the gateway refuses requests: its disk is full, or nearly\n {4}next: df -h/,
    )

    // Completely full: an answer that ends now waits for its charge instead of being sent without one.
    disk.fill(0)
    await expectRefusal('disk is full')
    const ended = [whole, stuck].map(({ end }) => end())
    provider.release()
    await until(() => provider.ended === 2, 'both are to be charged')

    disk.free()
    await Promise.all(ended)
    await until(isReady, 'it is ready again')
    expect((await ask()).status).toBe(200)
    expect(provider.asked).toBe(4)
    expect(charges().map(({ amount_nanos: nanos }) => nanos)).toEqual(Array(4).fill(-CHARGE_NANOS))
    expect(charges().map(({ generation_id: id }) => id)).toEqual(
      expect.arrayContaining([whole.id, stuck.id]),
    )
    expect(openHolds(disk.cli)).toBe(0)
    expect(disk.cli.run(['audit']).code).toBe(0)
    expect(doctor().code).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a disk that is full when a killed gateway restarts: it waits for space',
  async () => {
    await open()
    expect((await ask()).status).toBe(200)
    await gateway.kill()
    disk.fill(0)
    // It returns when the gateway is ready, which is once there is space.
    const starting = startAppliance(disk.cli)
    await until(() => doctor().out.includes('disk is full'), 'doctor names it')
    expect(doctor().code).toBe(6)
    disk.free()
    gateway = await starting
    expect((await ask()).status).toBe(200)
    expect(charges()).toHaveLength(2)
    expect(doctor().code).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a disk that is full when a stopped gateway starts: it exits with the reason, and starts once there is space',
  async () => {
    await open()
    expect((await ask()).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
    disk.fill(0)
    await expectNoStart(1, 'disk is full')
    disk.free()
    gateway = await startAppliance(disk.cli)
    expect((await ask()).status).toBe(200)
    expect(charges()).toHaveLength(2)
    expect(doctor().code).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a disk that is read-only when the gateway starts: serve and doctor name the reason',
  async () => {
    await open()
    expect((await ask()).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
    disk.remount('ro')
    await expectNoStart(1, 'disk is read-only')
    expect(disk.cli.run(['backup', join(tempDirectory(), 'copy.db')])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot copy .*gateway\.db: its disk is read-only/),
    })
    disk.remount('rw')
    gateway = await startAppliance(disk.cli)
    expect((await ask()).status).toBe(200)
    expect(charges()).toHaveLength(2)
    expect(doctor().code).toBe(0)
  },
)

/** `serve` and `doctor` name the reason, each in its own words. */
async function expectNoStart(code: number, reason: string): Promise<void> {
  const refused = disk.cli.run(['serve', '--listen', '127.0.0.1:0'])
  expect([refused.code, refused.err]).toEqual([code, expect.stringContaining(reason)])
  const ill = doctor()
  expect([ill.code, ill.out]).toEqual([6, expect.stringMatching(new RegExp(`^✖ .*${reason}`))])
}
