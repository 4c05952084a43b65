/** One small exchange outside of a client's request: a list of models, a token. By the client and the proxy that requests go by. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { ExchangeControl, Message, Post, Reply } from './reply.ts'

/** A list of models, and how it is fetched. */
export interface List {
  readonly url: URL
  readonly headers: Message['headers']
  readonly post: Post
}

export interface TextReply {
  readonly status: number
  readonly headers: Reply['headers']
  readonly text: string
}

/** @throws UpstreamFailure where the body has more than `mostBytes`; the transport's error; the signal's reason */
export async function requestText(
  post: Post,
  message: Message,
  signal: AbortSignal,
  mostBytes: number,
): Promise<TextReply> {
  signal.throwIfAborted()
  const reply = await send(post, message, signal)
  return { status: reply.status, headers: reply.headers, text: await readAll(reply, mostBytes) }
}

function send(post: Post, message: Message, signal: AbortSignal): Promise<Reply> {
  const opening = Promise.withResolvers<Reply>()
  const control: ExchangeControl = {
    get isAborted() {
      return signal.aborted
    },
    attach: (attached) => signal.addEventListener('abort', () => attached.abort(signal.reason)),
    connecting() {},
    connected() {},
    sent() {},
  }
  post(message, opening, control, true)
  return opening.promise
}

async function readAll(reply: Reply, mostBytes: number): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for (let piece = await reply.read(); !piece.done; piece = await reply.read()) {
    text += decoder.decode(piece.value, { stream: true })
    if (text.length > mostBytes) throw new UpstreamFailure('failed', 'its answer has no end')
  }
  return text
}
