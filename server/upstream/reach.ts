/** How a provider's addresses are posted to: as they are, or by clients that authorize every request. */
import { openPost } from './http1/post.ts'
import type { Post } from './reply.ts'

export interface Reach {
  /** Opens the client of an address. It opens no connection. @throws UpstreamFailure */
  readonly open: (address: string, method?: 'GET' | 'POST') => Post
  /** Headers of every request, beside the family's own; empty where each is authorized by itself. */
  readonly auth: Readonly<Record<string, string>>
  /** What must not show in anybody's text; null where the credential itself is all of it. */
  readonly secret: string | null
}

/** The family's own headers have the credential. */
export const DIRECT: Reach = { open: openPost, auth: {}, secret: null }
