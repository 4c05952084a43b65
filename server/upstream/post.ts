/** Chooses the HTTP client for a URL: our own HTTP/1.1 client, or the runtime's fetch when a proxy is configured. */
import { postOverConnection } from './http1/post.ts'
import { toTarget } from './http1/target.ts'
import { postByFetch } from './post-by-fetch.ts'
import { isProxied } from './proxy.ts'
import type { Post } from './reply.ts'

/** `address` is an absolute http or https URL. Opens no connection. */
export function openPost(address: string): Post {
  const url = new URL(address)
  return isProxied(url, process.env) ? postByFetch(address) : postOverConnection(toTarget(url))
}
