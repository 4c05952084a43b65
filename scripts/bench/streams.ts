/** Part `streams`: thousands of slow streams at once; what one takes in memory, and how much later its pieces come. */
import type { Socket } from 'bun'
import { median } from './compare.ts'
import { residentMebibytes } from './process.ts'
import type { AnswerRoute, Part, Rig } from './rig.ts'

const STREAMS = 5_000
/** From so many on it is counted what one more takes: what the first ones bring into memory serves all of them. */
const FIRST = 1_000
const MAX_KIBIBYTES_MORE = 20
const SAMPLE_MS = 250
/** As `mock.ts` paces it; every piece of it carries the moment at which it was sent. */
const ROUTE: AnswerRoute = { name: 'slow', type: 'openai-compatible', stream: true }

interface StreamFigures {
  /** Of all that was not resident before they came. */
  readonly kibibytesEach: number
  /** Of what those after the first thousand brought. */
  readonly kibibytesMore: number
  readonly broken: number
  readonly whole: number
  /** From the mock's sending to our reading, of every piece while all were under way. */
  readonly p50Ms: number
  readonly p99Ms: number
}

export const streams: Part = {
  answers: [ROUTE],
  async run(rig) {
    const bare = await hold(rig, 'bare')
    const gateway = await hold(rig, 'gateway')
    console.log(`\n${STREAMS} streams at once, a piece each second`)
    for (const [name, figures] of [
      ['bare', bare],
      ['gateway', gateway],
    ] as const) {
      console.log(
        `  ${name.padEnd(8)} ${figures.kibibytesEach.toFixed(1).padStart(6)} KiB resident each, one more ${figures.kibibytesMore.toFixed(1).padStart(5)}   ` +
          `whole ${figures.whole}, broken ${figures.broken}   ` +
          `a piece after p50 ${figures.p50Ms.toFixed(1)} ms, p99 ${figures.p99Ms.toFixed(1)} ms`,
      )
    }
    const more = gateway.kibibytesMore - bare.kibibytesMore
    const isWithin = more <= MAX_KIBIBYTES_MORE && gateway.broken === 0
    console.log(
      `  gateway over bare: ${more.toFixed(1)} KiB for one more, at most ${MAX_KIBIBYTES_MORE}; ` +
        `${(gateway.p50Ms - bare.p50Ms).toFixed(1)} ms at p50, ${(gateway.p99Ms - bare.p99Ms).toFixed(1)} ms at p99: ` +
        (isWithin ? 'kept' : 'BROKEN'),
    )
    return isWithin
  },
}

/** Opens all of them, and looks at the memory while all are under way. */
async function hold(rig: Rig, which: 'bare' | 'gateway'): Promise<StreamFigures> {
  const { pid } = rig[which]
  const before = residentMebibytes(pid)
  const delays: number[] = []
  const begun: Promise<boolean>[] = []
  const request = render(rig, which)
  const target = new URL(rig.target(which, ROUTE).origin)
  let under = 0
  let most = 0
  let first = Number.NaN
  const samples: number[] = []
  const late = (ms: number): void => {
    if (under === STREAMS) delays.push(ms)
  }
  const sampler = setInterval(() => {
    most = Math.max(most, under)
    if (under === STREAMS) samples.push(residentMebibytes(pid))
  }, SAMPLE_MS)
  const count = (change: 1 | -1): void => {
    under += change
    if (under === FIRST && change === 1) first = residentMebibytes(pid)
  }
  for (let n = 0; n < STREAMS; n++) {
    begun.push(listen(target, request, late, count))
    // One after the other: it is the streams that are measured, not a stampede.
    await Bun.sleep(1)
  }
  const ends = await Promise.all(begun)
  clearInterval(sampler)
  if (samples.length === 0) throw new Error(`never more than ${most} streams were under way`)
  delays.sort((a, b) => a - b)
  const at = (share: number): number => delays[Math.floor(delays.length * share)] ?? Number.NaN
  return {
    kibibytesEach: ((median(samples) - before) * 1024) / STREAMS,
    kibibytesMore: ((median(samples) - first) * 1024) / (STREAMS - FIRST),
    whole: ends.filter(Boolean).length,
    broken: ends.filter((isWhole) => !isWhole).length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

function render(rig: Rig, which: 'bare' | 'gateway'): string {
  const { origin, path, keys, body } = rig.target(which, ROUTE)
  return (
    `POST ${path} HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${keys[0]}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

interface StreamReader {
  text: string
  hasBegun: boolean
  isWhole: boolean
}

/** One stream on a socket of its own; true when it came to its last piece. */
function listen(
  { hostname, port }: URL,
  request: string,
  late: (ms: number) => void,
  count: (change: 1 | -1) => void,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onData = (socket: Socket<StreamReader>, bytes: Buffer): void => {
    const reader = socket.data
    const text = reader.text + bytes.toString('latin1')
    if (!reader.hasBegun) {
      reader.hasBegun = true
      count(1)
    }
    for (const [, at] of text.matchAll(/at:(\d+):/g)) late(Date.now() - Number(at))
    reader.isWhole ||= text.includes('[DONE]')
    // A stamp may be cut in two, and must not be counted twice.
    reader.text = text.slice(text.lastIndexOf('\n') + 1).replaceAll(/at:\d+:/g, '')
    if (reader.isWhole) socket.end()
  }
  Bun.connect<StreamReader>({
    hostname,
    port: Number(port),
    data: { text: '', hasBegun: false, isWhole: false },
    socket: {
      open: (socket) => void socket.write(request),
      data: onData,
      close(socket) {
        if (socket.data.hasBegun) count(-1)
        resolve(socket.data.isWhole)
      },
    },
  }).catch(() => resolve(false))
  return promise
}
