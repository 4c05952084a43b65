// A request that is over leaves nothing that only a collection of everything would find: one of the young must do.
import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { afterEach, describe, expect, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { type Served, serve } from './serve.ts'

let served: Served | null = null
afterEach(async () => {
  await served?.gateway.stop(0)
  await served?.deps.store.close()
  served = null
})

const AT_ONCE = 16
const REQUESTS = 640
/** Not between two waves, when nobody is under way. */
const COLLECTED_EVERY = 50

/** The runtime's own object of a request; whatever else one has hangs together with it. */
const requests = (): number => heapStats().objectTypeCounts['Request'] ?? 0

describe.each([
  { stream: false, headers: {} },
  { stream: true, headers: {} },
  { stream: false, headers: { 'Idempotency-Key': 'key of request' } },
])('$stream, $headers', ({ stream, headers }) => {
  test('what is left of many requests is those that a collection met', async () => {
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
