/** A receiver of webhooks on a real socket: it keeps what came, and answers as a test says. */
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Receiver {
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly received: Received[]
  close(): Promise<void>
}

/** How the nth webhook, counted from 0, is answered. */
export type Answer = (nth: number, received: Received) => Response | Promise<Response>

export const never = (): Promise<Response> => new Promise(() => {})

/** Open until it is closed. */
export function openReceiver(answer: Answer, tls?: Bun.TLSOptions): Receiver {
  const received: Received[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls && { tls }),
    async fetch(request) {
      const one = {
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }
      return await answer(received.push(one) - 1, one)
    },
  })
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`,
    received,
    close: () => server.stop(true),
  }
}

/** For one test. */
export function startReceiver(answer: Answer, tls?: Bun.TLSOptions): Receiver {
  const receiver = openReceiver(answer, tls)
  onTestFinished(() => receiver.close())
  return receiver
}

/** What a stock library makes of it; throws where the signature, its time or a header is wrong. */
export const verify = (secret: string, { body, headers }: Received): unknown =>
  new Webhook(secret).verify(body, { ...headers })
