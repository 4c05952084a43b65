/** Posts with a credential that every request gets anew: its own signature, or a token that may have to be fetched first. */
import { openPost } from './http1/post.ts'
import type { Message, Post, Reply } from './reply.ts'

export interface Authorizer {
  /** The headers that a message to this address needs beside its own. @throws UpstreamFailure */
  headersFor(message: Message, url: URL, method: 'GET' | 'POST'): Promise<Message['headers']>
  /** A provider has refused what was sent (401, 403). */
  refused(): void
}

/**
 * The client of an address. Who is cancelled while the credential is fetched has sent nothing; it is fetched for the others all
 * the same.
 */
export function openAuthorized(
  address: string,
  authorizer: Authorizer,
  method: 'GET' | 'POST' = 'POST',
): Post {
  const url = new URL(address)
  const post = openPost(address, method)
  return (message, handler, control, fresh) => {
    let isWaiting = true
    const reject = (thrown: unknown): void => {
      if (!isWaiting) return
      isWaiting = false
      handler.reject(thrown)
    }
    const noting = {
      resolve(reply: Reply): void {
        if (reply.status === 401 || reply.status === 403) authorizer.refused()
        handler.resolve(reply)
      },
      reject: (thrown: unknown) => handler.reject(thrown),
    }
    control.attach({ abort: reject })
    authorizer.headersFor(message, url, method).then((added) => {
      if (!isWaiting) return
      isWaiting = false
      post({ ...message, headers: { ...message.headers, ...added } }, noting, control, fresh)
    }, reject)
  }
}
