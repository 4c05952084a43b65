/** The ids of calls, of which other dialects allow longer ones and more characters. */
import { createHash } from 'node:crypto'

const PLAIN_ID = /^[\w-]{1,64}$/

/** Deterministic, so that a call and its result keep the same id in every turn. */
export const toPlainId = (id: string): string =>
  PLAIN_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
