/** Our own HTTP/1.1 client: posts on a resting connection where there is one, else on a new one. */
import type { Post } from '../reply.ts'
import { connect, sendOrQueue } from './connect.ts'
import { startExchange } from './exchange.ts'
import { takeIdle } from './idle-connections.ts'
import { type RequestText, toRequestText } from './request.ts'
import type { Target } from './target.ts'

/** The client for one address. However many it is given at once, each request has a connection of its own. */
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
    // Pulled before it began: nothing was sent, and nothing will be.
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
