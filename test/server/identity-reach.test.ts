// Requests to identity providers: the issuer's own host may be internal, all others must be public; no redirects, and limits.
import { describe, expect, test } from 'vitest'
import { identityReach } from '#server/identity-reach.ts'
import { startReceiver } from '#test/support/receiver.ts'

const REQUEST = { method: 'GET', headers: {} }

/** Why a request failed: the code for a forbidden address, or any other error. */
async function wordOf(address: string, issuer: string, isDevelopment = false): Promise<string> {
  const asked = identityReach(isDevelopment, 100)(address, REQUEST, issuer)
  return await asked.then(
    ({ status }) => String(status),
    (thrown: Error) => thrown.message,
  )
}

const FORBIDDEN = 'forbidden_address'

describe("an address on the issuer's own host", () => {
  test.each([
    ['http://127.0.0.1:1/', false],
    ['http://10.255.255.1/', false],
    ['http://10.255.255.1/', true],
    ['http://192.0.2.1/', true],
    ['https://169.254.169.254/', false],
    ['https://0.0.0.0/', false],
    ['file:///etc/passwd', true],
  ])('%s is not requested (development: %s)', async (address, isDevelopment) => {
    expect(await wordOf(address, address, isDevelopment)).toBe(FORBIDDEN)
  })

  test.each([
    ['https://10.255.255.1/', false],
    ['https://127.0.0.1:1/', false],
    ['https://localhost:1/', false],
    ['http://localhost:1/', true],
  ])('%s is requested (development: %s)', async (address, isDevelopment) => {
    expect(await wordOf(address, address, isDevelopment)).not.toBe(FORBIDDEN)
  })
})

describe("an address on another host than the issuer's", () => {
  test.each([
    'https://10.255.255.1/jwks',
    'https://127.0.0.2/jwks',
    'https://localhost/jwks',
    'https://vault.internal/jwks',
    'http://127.0.0.2/jwks',
    'http://192.0.2.1/jwks',
    'https://8.8.8.8:22/jwks',
    'https://8.8.8.8:80/jwks',
  ])('%s is not requested', async (address) => {
    for (const isDevelopment of [true, false]) {
      expect(await wordOf(address, 'https://127.0.0.1', isDevelopment)).toBe(FORBIDDEN)
    }
  })
})

test('the response is returned whole, with its status, and no redirect is followed', async () => {
  const { url, received } = startReceiver((nth) =>
    nth === 0
      ? Response.json({ error: 'no' }, { status: 400 })
      : nth === 1
        ? Response.redirect('http://127.0.0.1:1/', 307)
        : new Response(null, { status: 204 }),
  )
  const reach = identityReach(true)
  const request = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'a=b' }
  const first = await reach(`${url}/token`, request, url)
  expect([first.status, await first.json()]).toEqual([400, { error: 'no' }])
  expect(first.headers.get('content-type')).toContain('application/json')
  expect((await reach(`${url}/token`, request, url)).status).toBe(307)
  expect((await reach(`${url}/token`, request, url)).status).toBe(204)
  expect(received.map(({ path, body }) => [path, body])).toEqual([
    ['/token', 'a=b'],
    ['/token', 'a=b'],
    ['/token', 'a=b'],
  ])
})

test('an endless response is cut at a maximum size and a maximum time', async () => {
  const endless = () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(new Uint8Array(65_536))
        },
      }),
    )
  const dripping = () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(new Uint8Array(1))
          await Bun.sleep(20)
        },
      }),
    )
  const { url } = startReceiver((nth) => (nth === 0 ? endless() : dripping()))
  await expect(identityReach(true)(url, REQUEST, url)).rejects.toThrow('answer_too_large')
  await expect(identityReach(true, 200)(url, REQUEST, url)).rejects.toThrow(/timed out/)
})
