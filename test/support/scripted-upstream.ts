/** An upstream scripted by a test, which records the calls it received. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'

export const text = (words: string, choice = 0): ChatEvent => ({
  type: 'text-delta',
  choice,
  text: words,
})

export const finish = (choice = 0): ChatEvent => ({
  type: 'finish',
  choice,
  reason: 'stop',
  native: 'end_turn',
})

export interface Script {
  readonly upstream: Upstream
  /** The calls it was asked for. */
  readonly calls: UpstreamCall[]
  /** How many batches were asked of it. */
  readonly asked: number
  /** Whether its last exchange is over, however it ended. */
  readonly over: boolean
}

/** `play` gets the call; what it yields are the batches. Whatever it awaits should go through `until`. */
export function script(
  play: (call: UpstreamCall) => AsyncGenerator<ChatEvents, void>,
  open: (call: UpstreamCall) => Promise<void> = async () => {},
): Script {
  const calls: UpstreamCall[] = []
  let asked = 0
  let over = false

  async function* exchange(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
    try {
      for await (const batch of play(call)) {
        asked++
        yield batch
      }
    } finally {
      over = true
    }
  }

  return {
    calls,
    get asked() {
      return asked
    },
    get over() {
      return over
    },
    upstream: {
      async ask(call) {
        calls.push(call)
        try {
          call.sending.isSent = true
          await open(call)
        } catch (thrown) {
          over = true
          throw thrown
        }
        return exchange(call)
      },
    },
  }
}

/** Waits for `promise`, or until the call is aborted, as every real upstream does. */
export function until<T>(promise: Promise<T>, { signal }: UpstreamCall): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    promise.then(resolve, reject)
  })
}

export const never = new Promise<never>(() => {})

/** Waits until `condition` holds; fails when it does not within fifteen seconds. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const deadlineMs = performance.now() + 15_000
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`did not happen: ${what}`)
    await Bun.sleep(5)
  }
}
