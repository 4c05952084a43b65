/** The error for a key that there is not. */
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'

export const keyNotFound = (id: KeyId): GatewayError =>
  new GatewayError('key_not_found', `there is no key ${id}`, { hint: 'gatewayctl keys list' })
