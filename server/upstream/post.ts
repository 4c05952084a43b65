/** Picks the client that posts to an address: our own HTTP/1.1, or the runtime's fetch where a proxy stands in between. */
import { postOverConnection } from './http1/post.ts'
import { toTarget } from './http1/target.ts'
import { postByFetch } from './post-by-fetch.ts'
import { isProxied } from './proxy.ts'
import type { Post } from './reply.ts'

/** Decided once for an address, an absolute http or https URL; opens no connection. */
export function openPost(address: string): Post {
  const url = new URL(address)
  return isProxied(url, process.env) ? postByFetch(address) : postOverConnection(toTarget(url))
}
