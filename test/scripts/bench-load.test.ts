// The bench's own figures: what a broken or a cut answer counts as.
import { expect, test } from 'vitest'
import { load } from '#scripts/bench/load.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const LAST = '0\r\n\r\n'
const ANSWERS = 3

/** Each answer leaves piece by piece. */
async function figuresOf(...pieces: readonly string[]) {
  using server = Bun.listen<null>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      async data(socket) {
        for (const piece of pieces) {
          socket.write(piece)
          socket.flush()
          // Time to read it by itself; together the pieces are found as well.
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
      },
    },
  })
  const origin = `http://127.0.0.1:${server.port}`
  const target = { origin, path: '/', keys: ['key'], body: '{}', token: 'word 0 ' }
  return await load(target, 1, { answers: ANSWERS })
}

test.each([
  ['whole', [`${HEAD}7\r\nword 0 \r\n${LAST}`]],
  ['cut by a read', [`${HEAD}7\r\nwor`, `d 0 \r\n${LAST}`]],
  ['cut by a seam', [`${HEAD}3\r\nwor\r\n4\r\nd 0 \r\n${LAST}`]],
  ['cut by a seam that a read cuts', [`${HEAD}3\r\nwor\r\n`, `4\r\nd 0 \r\n${LAST}`]],
  ['cut between the head and it', [HEAD, '7\r\n', `word 0 \r\n${LAST}`]],
])('a first token is found that is %s', async (_, pieces) => {
  const { requests, bad, firstP50Micros } = await figuresOf(...pieces)
  expect({ requests, bad }).toEqual({ requests: ANSWERS, bad: 0 })
  expect(firstP50Micros).toBeGreaterThan(0)
})

test('an answer without it is bad, and has no time to it', async () => {
  const { requests, bad, firstP50Micros } = await figuresOf(`${HEAD}5\r\nother\r\n${LAST}`)
  expect({ requests, bad, firstP50Micros }).toEqual({
    requests: ANSWERS,
    bad: ANSWERS,
    firstP50Micros: 0,
  })
})
