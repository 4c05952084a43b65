/** Clients: what they ask, what they are told, and what becomes of it. */
import type { KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { Served } from './ports.ts'
import type { World } from './world.ts'

/** A key of a client, as it was issued. */
export interface Customer {
  readonly id: KeyId
  readonly secret: string
}

/** One request, and its repetitions if it may be repeated. */
interface Wish {
  readonly nth: number
  readonly customer: Customer
  /** Its `Idempotency-Key`. */
  readonly repeat: string | null
  readonly body: string
  tries: number
}

/** An answer that arrived whole: its last byte was sent. */
export interface Told {
  readonly nth: number
  readonly repeat: string | null
  readonly generationId: string
  readonly cost: UsdNanos
  /** Its provider broke off: what came is charged, and no answer to a repetition. */
  readonly isBroken: boolean
}

const MOST_TRIES = 8

/** Ask for answers, leave at times, and repeat what may be repeated until they are answered. */
export class Clients {
  readonly told: Told[] = []
  /** Answers by their status; 0: the connection was cut, or left. */
  readonly statuses = new Map<number, number>()
  /** Requests without an end. */
  readonly waiting = new Set<Wish>()
  /** Broken promises that a client sees. */
  readonly faults: string[] = []
  private asked = 0
  private readonly world: World
  private readonly customers: readonly Customer[]
  private readonly pick: () => Served | null

  constructor(world: World, customers: readonly Customer[], pick: () => Served | null) {
    this.world = world
    this.customers = customers
    this.pick = pick
  }

  ask(): void {
    const { world, customers } = this
    const nth = ++this.asked
    const customer = customers[world.chance.pick(customers.length)] as Customer
    const repeat = world.odds(35) ? `name-${nth}` : null
    const wish: Wish = { nth, customer, repeat, body: drawBody(world), tries: 0 }
    this.waiting.add(wish)
    this.send(wish)
    // An impatient client asks twice.
    if (repeat === null || !world.odds(25)) return
    const twin = { ...wish, tries: MOST_TRIES - 3 }
    this.waiting.add(twin)
    world.after(world.chance.exponential(500), () => this.send(twin), world.outside)
  }

  private send(wish: Wish): void {
    const { world } = this
    const { chance } = world
    wish.tries++
    const served = this.pick()
    if (served === null) {
      this.again(wish)
      return
    }
    const { life } = served
    const asking: Asking = { wish, served, leaving: new AbortController(), isOver: false }
    life.endings.push(() => this.end(asking, 0, 'is cut off'))
    if (world.odds(8)) world.after(chance.exponential(800), () => this.leave(asking), life)
    const run = (): void => {
      this.run(asking).catch((thrown) => this.end(asking, 0, `is cut off: ${thrown}`))
    }
    world.after(chance.exponential(1), run, life)
  }

  private async run(asking: Asking): Promise<void> {
    const { wish, served, leaving } = asking
    const { nth, repeat } = wish
    this.world.say(`request ${nth} arrives${repeat === null ? '' : `, as ${repeat}`}`)
    const response = await served.fetch(requestOf(wish, leaving.signal))
    const text = await response.text()
    if (asking.isOver) return
    const { status } = response
    if (status === 500) this.faults.push(`request ${nth} was told 500: ${text}`)
    if (status !== 200) return this.end(asking, status, `is told ${status}`)
    const answer = readAnswer(text)
    if (answer === null) return this.end(asking, 0, 'is told a part')
    this.told.push({ ...answer, nth, repeat })
    this.end(asking, 200, `is answered by ${answer.generationId} for ${answer.cost}`)
  }

  private leave(asking: Asking): void {
    if (asking.isOver) return
    asking.leaving.abort()
    this.end(asking, 0, 'leaves')
  }

  private end(asking: Asking, status: number, what: string): void {
    if (asking.isOver) return
    asking.isOver = true
    this.world.say(`request ${asking.wish.nth} ${what}`)
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status === 200) this.waiting.delete(asking.wish)
    else this.again(asking.wish)
  }

  private again(wish: Wish): void {
    if (wish.repeat === null || wish.tries >= MOST_TRIES) {
      this.waiting.delete(wish)
      return
    }
    const { chance, outside } = this.world
    this.world.after(chance.between(500, 8_000), () => this.send(wish), outside)
  }
}

/** One try. */
interface Asking {
  readonly wish: Wish
  readonly served: Served
  readonly leaving: AbortController
  isOver: boolean
}

function drawBody(world: World): string {
  const { chance } = world
  const words = 1 + chance.pick(30)
  const pace = `rate-${5 + chance.pick(60)} delay-${chance.pick(1_500)}`
  const isFlaky = world.odds(12)
  const trouble = ['fail-502', 'fail-429', 'cut', 'slow', 'no-usage'][chance.pick(5)] as string
  return JSON.stringify({
    model: isFlaky ? 'demo/flaky' : 'demo/lorem',
    stream: world.odds(45),
    max_tokens: words,
    user: isFlaky ? trouble : pace,
    messages: [{ role: 'user', content: 'some words to say '.repeat(1 + chance.pick(6)) }],
  })
}

const requestOf = ({ customer, repeat, body }: Wish, signal: AbortSignal): Request =>
  new Request('http://gateway.test/v1/chat/completions', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': `${body.length}`,
      Authorization: `Bearer ${customer.secret}`,
      ...(repeat !== null && { 'Idempotency-Key': repeat }),
    },
    body,
    signal,
  })

interface Answer {
  readonly id: string
  readonly usage?: { readonly cost: number } | null
  readonly error?: unknown
}

/** Null where its end is missing. */
function readAnswer(text: string): Omit<Told, 'nth' | 'repeat'> | null {
  const parts = text.startsWith('data:') ? readStream(text) : [JSON.parse(text) as Answer]
  const last = parts?.find(({ usage }) => usage)
  if (!parts || !last?.usage) return null
  return {
    generationId: last.id,
    cost: BigInt(Math.round(last.usage.cost * 1e9)) as UsdNanos,
    isBroken: parts.some(({ error }) => error !== undefined),
  }
}

function readStream(text: string): readonly Answer[] | null {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  if (lines.at(-1) !== 'data: [DONE]') return null
  return lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)) as Answer)
}
