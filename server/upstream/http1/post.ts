/** Our own HTTP/1.1 client: posts on a resting connection where there is one, else on a new one. */
import type { Post, Reply } from '../reply.ts'
import { begin, connect } from './connect.ts'
import { abandon, startExchange } from './exchange.ts'
import type { Exchange } from './line.ts'
import { toRequestText } from './request.ts'
import { takeResting } from './resting.ts'
import type { Target } from './target.ts'

/** The client for one address. However many it is given at once, each request has a connection of its own. */
export const postOverLine =
  (target: Target): Post =>
  (message, leash, fresh) => {
    const opening = Promise.withResolvers<Reply>()
    let exchange: Exchange
    try {
      exchange = startExchange(toRequestText(target, message), leash, fresh)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
    exchange.opening = opening
    leash.onPull((reason) => abandon(exchange, reason))
    // Pulled before it began: nothing was sent, and nothing will be.
    if (leash.isPulled) return opening.promise
    const line = fresh ? undefined : takeResting(target.origin)
    if (line === undefined) {
      leash.connects()
      connect(target, exchange)
    } else {
      exchange.line = line
      line.exchange = exchange
      begin(line)
    }
    return opening.promise
  }
