// A finished request leaves no object that only a full garbage collection frees: a minor collection is enough.
import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { afterEach, describe, expect, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { FULL } from '#test/support/tier.ts'
import { type Served, serve } from './serve.ts'

let served: Served | null = null
afterEach(async () => {
  await served?.gateway.stop(0)
  await served?.deps.store.close()
  served = null
})

const AT_ONCE = 16
const REQUESTS = FULL ? 640 : 160
/** Not between two batches, when no request is running. */
const COLLECTED_EVERY = 50

/** The runtime's own request object; all other objects of a request are reachable from it. */
const requests = (): number => heapStats().objectTypeCounts['Request'] ?? 0

describe.each([
  { stream: false, headers: {} },
  { stream: true, headers: {} },
  { stream: false, headers: { 'Idempotency-Key': 'key of request' } },
])('$stream, $headers', ({ stream, headers }) => {
  test('a minor collection frees most of the requests that have finished', async () => {
    served = await serve(null)
    const { chat, key } = served
    let asked = 0
    const ask = async (): Promise<void> => {
      while (asked < REQUESTS) {
        const number = asked++
        if (number % COLLECTED_EVERY === 0) setTimeout(edenGC, 0)
        const own = Object.entries(headers).map(([name, text]) => [name, `${text} ${number}`])
        const response = await chat(hello({ stream }), {
          headers: {
            'Content-Type': 'application/json',
            ...key.bearer,
            ...Object.fromEntries(own),
          },
        })
        expect(response.status).toBe(200)
        await response.text()
      }
    }
    await ask()
    fullGC()
    asked = 0
    const before = requests()
    await Promise.all(Array.from({ length: AT_ONCE }, ask))
    edenGC()
    expect(requests() - before).toBeLessThan(REQUESTS / 2)
  })
})
