// A port that is taken: where nobody said where people sign in the gateway starts without, else it does not start.
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { furnishDesk, startAppliance } from '#test/support/appliance.ts'
import { type Desk, openDesk } from '#test/support/desk.ts'

let desk: Desk

beforeAll(() => {
  desk = furnishDesk(openDesk())
})
afterAll(() => desk.close())

async function take(): Promise<{ readonly address: string; close(): void }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' ? bound?.port : 0
  return { address: `127.0.0.1:${port}`, close: () => server.close() }
}

test('a stated listener that is taken keeps the gateway from starting, and names the right one', async () => {
  const taken = await take()
  try {
    const { code, err } = desk.run([
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--auth-listen',
      taken.address,
    ])
    expect(code).toBe(1)
    expect(err).toBe(
      `error: cannot listen on ${taken.address}: something else does\nhint: gatewayctl serve --auth-listen 127.0.0.1:4151\n`,
    )
  } finally {
    taken.close()
  }
})

test('off: the gateway serves, and status says that nobody signs in', async () => {
  const appliance = await startAppliance(desk, { flags: ['--auth-listen', 'off'] })
  try {
    expect(appliance.said()).not.toContain('sign-in')
    expect(desk.json<{ auth_url: null }>(['status']).auth_url).toBeNull()
  } finally {
    expect(await appliance.stop()).toBe(0)
  }
})
