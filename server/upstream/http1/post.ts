/** Our own HTTP/1.1 client: posts on an idle connection when there is one, else on a new one. */
import { readProxy } from '../proxy.ts'
import type { Post } from '../reply.ts'
import { connect, sendOrQueue } from './connect.ts'
import { startExchange } from './exchange.ts'
import { takeIdle } from './idle-connections.ts'
import { type RequestText, toRequestText } from './request.ts'
import { type Target, toTarget } from './target.ts'

/**
 * The client for an absolute http or https URL, through the proxy that the environment names for it. Opens no connection.
 * @throws UpstreamFailure `failed` when the environment's proxy cannot be used
 */
export function openPost(address: string): Post {
  const url = new URL(address)
  return postOverConnection(toTarget(url, readProxy(url, process.env)))
}

/** The number of connections is not limited: concurrent requests never wait for each other. */
export const postOverConnection =
  (target: Target): Post =>
  (message, handler, control, fresh) => {
    let request: RequestText
    try {
      request = toRequestText(target, message)
    } catch (thrown) {
      handler.reject(thrown)
      return
    }
    const exchange = startExchange(request, handler, control, fresh)
    // Cancelled before anything was sent.
    if (control.isAborted) return
    const connection = fresh ? undefined : takeIdle(target.origin)
    if (connection === undefined) {
      control.connecting()
      connect(target, exchange)
    } else {
      exchange.connection = connection
      connection.exchange = exchange
      sendOrQueue(connection)
    }
  }
