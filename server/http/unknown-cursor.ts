/** The refusal of a page that is to follow, or to precede, what is not listed. */
import { GatewayError } from '#domain/errors.ts'

/** Of every list: a page that follows nothing would be the first again, and whoever turns pages would never end. */
export const unknownCursor = (param: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `${param}: nothing of that id is listed; begin again without it`,
    { param },
  )
