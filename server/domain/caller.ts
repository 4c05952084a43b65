/** The caller of the chat operation. */
import type { Instant } from './clock.ts'
import type { ApiKey } from './key.ts'

export interface Caller {
  readonly key: ApiKey
  readonly requestId: string
  /** When the request arrived. */
  readonly arrivedAt: Instant
}
