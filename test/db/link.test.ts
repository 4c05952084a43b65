// The link between two processes: frames that come in pieces, are large, fail, or never come.
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Link, type LinkEnd, linkSocket } from '#db/front/link.ts'
import { GatewayError } from '#domain/errors.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const END: LinkEnd = { answer: () => undefined, closed: () => {} }

/** Two ends of one connection. */
async function connect(
  near: Partial<LinkEnd>,
  far: Partial<LinkEnd>,
): Promise<readonly [Link, Link]> {
  const unix = join(tempDirectory(), 'link.sock')
  const other = new Link({ ...END, ...far })
  const listener = Bun.listen({ unix, socket: linkSocket(other) })
  const link = new Link({ ...END, ...near })
  await Bun.connect({ unix, socket: linkSocket(link) })
  closers.push(() => {
    link.close()
    listener.stop(true)
  })
  return [link, other]
}

test('what a port takes and answers passes as it is', async () => {
  const value = {
    money: 12n,
    none: null,
    left: undefined,
    map: new Map([['a', 1]]),
    bytes: new Uint8Array([1, 2]),
  }
  const [link] = await connect({}, { answer: (method, args) => [method, args] })
  expect(await link.call('port.method', [value])).toEqual(['port.method', [value]])
})

test('megabytes pass in both directions, and small ones after them in order', async () => {
  const seen: number[] = []
  const [link] = await connect(
    {},
    {
      answer(_, [at, bytes]) {
        seen.push(at as number)
        return bytes
      },
    },
  )
  const large = new Uint8Array(20 * 1024 * 1024).fill(7)
  const answers = await Promise.all([link.call('m', [0, large]), link.call('m', [1, 'small'])])
  expect(Buffer.compare(answers[0] as Uint8Array, large)).toBe(0)
  expect(answers[1]).toBe('small')
  expect(seen).toEqual([0, 1])
})

test('an error is thrown with its code and details, and without what caused it', async () => {
  const cause = new Error('a path of this machine')
  const details = { param: 'model', retryAfterSeconds: 3, cause }
  const [link] = await connect(
    {},
    {
      answer: () => {
        throw new GatewayError('store_unavailable', 'the disk is full', details)
      },
    },
  )
  const thrown = await link.call('m', []).catch((error: unknown) => error)
  expect(thrown).toMatchObject({
    code: 'store_unavailable',
    message: 'the disk is full',
    details: { param: 'model', retryAfterSeconds: 3 },
  })
  expect((thrown as GatewayError).details.cause).toBeUndefined()
})

test('news is learnt before the answers that came with it', async () => {
  const learnt: unknown[] = []
  const news = [undefined, 'second']
  const [link] = await connect(
    { learn: (news) => learnt.push(news) },
    { answer: () => null, news: () => news.shift() },
  )
  await link.call('m', [])
  expect(learnt).toEqual([])
  await link.call('m', []).then(() => expect(learnt).toEqual(['second']))
})

test('a call fails when the other side goes, and so does every later one', async () => {
  const lost = Promise.withResolvers<void>()
  const [link, other] = await connect(
    { closed: () => lost.resolve() },
    { answer: () => new Promise(() => {}) },
  )
  const waiting = link.call('m', [])
  await new Promise((resolve) => setImmediate(resolve))
  other.close()
  await expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' })
  await lost.promise
  await expect(link.call('m', [])).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('what cannot be cloned fails, with the call or the answer that it is in, and the link goes on', async () => {
  const [link] = await connect({}, { answer: (method) => (method === 'a' ? () => 0 : 'well') })
  await expect(link.call('b', [() => 0])).rejects.toThrow()
  await expect(link.call('a', [])).rejects.toMatchObject({ code: 'internal_error' })
  expect(await link.call('b', [])).toBe('well')
})

test('the news of a frame whose answer cannot be cloned come all the same', async () => {
  const learnt: unknown[] = []
  let news: unknown = 'first'
  const [link] = await connect(
    { learn: (told) => void learnt.push(told) },
    {
      answer: () => () => 0,
      news() {
        const told = news
        news = undefined
        return told
      },
    },
  )
  await expect(link.call('a', [])).rejects.toMatchObject({ code: 'internal_error' })
  expect(learnt).toEqual(['first'])
})
