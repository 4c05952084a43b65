// Access to metrics: strangers, pages in a browser and wrong tokens are refused.
import { expect, test } from 'vitest'
import { metricsApp } from '#telemetry/metrics-app.ts'

const ask = (path = '/metrics', headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  new Request(`http://127.0.0.1:4142${path}`, {
    method,
    headers: { host: '127.0.0.1:4142', ...headers },
  })

const scrape = async (): Promise<string> => 'gateway_up 1\n'
const TOKEN = 'a-token-of-some-length'

test.each([
  ['127.0.0.1:4142', 200],
  ['[::1]:4142', 200],
  ['localhost:4142', 200],
  ['localhost', 200],
  ['rebound.example:4142', 403],
  ['localhost.example', 403],
  ['', 403],
])('without a token the Host %j is answered %d', async (host, status) => {
  expect((await metricsApp(null, scrape)(ask('/metrics', { host }))).status).toBe(status)
})

test.each([
  [`Bearer ${TOKEN}`, 200],
  [`bearer ${TOKEN}`, 200],
  [`Bearer ${TOKEN}x`, 401],
  [`Bearer ${TOKEN.slice(0, -1)}`, 401],
  [`Basic ${TOKEN}`, 401],
  ['Bearer', 401],
  [undefined, 401],
])('with a token %j is answered %d', async (authorization, status) => {
  const headers = { host: 'any.example', ...(authorization && { authorization }) }
  const response = await metricsApp(TOKEN, scrape)(ask('/metrics', headers))
  expect(response.status).toBe(status)
  expect((await response.text()).includes('gateway_up')).toBe(status === 200)
})

test('only GET /metrics is served', async () => {
  const app = metricsApp(null, scrape)
  expect((await app(ask('/'))).status).toBe(404)
  expect((await app(ask('/metrics/x'))).status).toBe(404)
  expect((await app(ask('/metrics', {}, 'POST'))).status).toBe(405)
})

test('concurrent scrapes share one result, and the next scrape gets its own', async () => {
  let scrapes = 0
  const app = metricsApp(null, async () => `n ${++scrapes}\n`)
  const texts = await Promise.all([app(ask()), app(ask())].map(async (r) => (await r).text()))
  expect(texts).toEqual(['n 1\n', 'n 1\n'])
  expect(await (await app(ask())).text()).toBe('n 2\n')
})
