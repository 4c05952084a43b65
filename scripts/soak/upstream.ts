/** The providers of the soak on one raw socket server: each answers as its wire does, or fails as the prompt's plan says. */
import { streamed, whole } from '../bench/answer.ts'
import { type Plan, readPlan } from './plan.ts'
import { type Ending, IDLE, type Part, plain, startRawServer } from './raw-server.ts'
import { WIRES, type Wire } from './wires.ts'

export interface SoakUpstream {
  /** A provider's base URL is this and its name. */
  readonly origin: string
  /** Requests that came in so far. */
  readonly asked: () => number
  stop(): void
}

const REFUSALS = {
  'says-429': '429 Too Many Requests\r\nretry-after: 1',
  'says-500': '500 Internal Server Error',
  'says-503': '503 Service Unavailable',
} as const

/** Listens on a free port of loopback. */
export function startUpstream(): SoakUpstream {
  let asked = 0
  const { origin, stop } = startRawServer((request) => {
    asked++
    return toPart(request)
  })
  return { origin, asked: () => asked, stop }
}

function toPart(request: string): Part {
  const plan = readPlan(request)
  const name = request.split('/', 2)[1] ?? ''
  const wire = WIRES[name] ?? WIRES['openai']
  if (!wire) throw new Error('no wire')
  const isStream = /streamGenerateContent|"stream":true/.test(request)
  const refusal = REFUSALS[plan.kind as keyof typeof REFUSALS]
  if (refusal !== undefined)
    return { ...plain(refusal, '{"error":{"message":"no"}}'), ending: 'keep' }
  switch (plan.kind) {
    case 'mute':
      return { ...IDLE, ending: 'silence' }
    case 'reset':
      return { ...IDLE, ending: 'reset' }
    case 'nonsense':
      return { ...plain('200 OK', '<html>who are you?</html>', 'text/html'), ending: 'keep' }
    default:
      return isStream ? streamedPart(wire, plan) : wholePart(wire, plan)
  }
}

/** A whole answer takes as long as the stream of it would, and breaks off in the middle where it is to break off. */
function wholePart(wire: Wire, { kind, chunks, gapMs }: Plan): Part {
  const [bytes = Buffer.alloc(0)] = whole(wire.whole).pieces
  const half = bytes.subarray(0, bytes.length / 2)
  const delayMs = Math.min(2_000, chunks * gapMs)
  const pieces = [kind === 'answer' || kind === 'uncounted' ? bytes : half]
  return { pieces, gapMs: 0, delayMs, ending: endingOf(kind) }
}

function streamedPart(wire: Wire, { kind, chunks, gapMs, at }: Plan): Part {
  const events = wire.stream(chunks)
  const last = kind === 'uncounted' ? events.last.replace(wire.counts, '') : events.last
  const { pieces } = streamed({ ...events, last }, { perPiece: 1, gapMs })
  const breaksOff = kind === 'cut' || kind === 'freeze'
  return { pieces: breaksOff ? pieces.slice(0, at + 1) : pieces, gapMs, ending: endingOf(kind) }
}

function endingOf(kind: Plan['kind']): Ending {
  if (kind === 'cut') return 'close'
  return kind === 'freeze' ? 'silence' : 'keep'
}
