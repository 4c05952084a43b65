/** Reads the headers that change what a request means, on every surface. */
import { GatewayError } from '#domain/errors.ts'
import { rejectWholeKey } from '../bearer.ts'

export interface RequestHeaders {
  /** By which the client may repeat the request; null without the header. */
  readonly idempotencyKey: string | null
  /** Whether only the verdict is wanted, and no answer. */
  readonly isDryRun: boolean
}

const IDEMPOTENCY_KEY = 'Idempotency-Key'
const DRY_RUN = 'X-Gateway-Dry-Run'

export const PRINTABLE = /^[ -~]{1,255}$/

/** @throws invalid_request */
export const readRequestHeaders = (headers: Headers): RequestHeaders => ({
  idempotencyKey: readIdempotencyKey(headers.get(IDEMPOTENCY_KEY)),
  isDryRun: readDryRun(headers.get(DRY_RUN)),
})

function readIdempotencyKey(stated: string | null): string | null {
  if (stated === null) return null
  if (!PRINTABLE.test(stated)) throw refused(IDEMPOTENCY_KEY, '1 to 255 printable ASCII characters')
  rejectWholeKey(stated, IDEMPOTENCY_KEY)
  return stated
}

/** A value but these two is rejected, so that a misspelt one does not cost money. */
function readDryRun(stated: string | null): boolean {
  const word = stated?.trim().toLowerCase() ?? 'false'
  if (word !== 'true' && word !== 'false') throw refused(DRY_RUN, 'true or false')
  return word === 'true'
}

const refused = (param: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: send ${wanted}`, { param })
