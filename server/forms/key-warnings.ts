/** Warnings about a key that is accepted: its name is in use, or a mask matches no model. */
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { type AllowList, idleMasks } from '#domain/key.ts'
import type { Store } from '#domain/store.ts'
import { LIKE_ANOTHERS } from './fields.ts'
import { nearest } from './nearest.ts'

/** One sentence for each mask that matches no known model. */
export function maskWarnings({ catalogue }: Pick<Store, 'catalogue'>, masks: AllowList): string[] {
  if (masks === null) return []
  const known = [...catalogue.current().models.keys()]
  const providers = [...new Set(known.map((id) => `${id.slice(0, id.indexOf('/'))}/*`))]
  return idleMasks(masks, known).map((mask) => {
    const meant = nearest(mask, mask.endsWith('/*') ? providers : known)
    return `"${mask}" matches no model${meant ? `; did you mean "${meant}"?` : ' today'}`
  })
}

/** Of a new name; a key that has one keeps it. @throws invalid_request */
export function requireKeyName(name: string, param = 'name'): void {
  if (!LIKE_ANOTHERS.test(name)) return
  throw new GatewayError(
    'invalid_request',
    `${param}: must not be like the secret of a key (if- and six characters) or its id (key_ and six to 26)`,
    { param },
  )
}

/** One sentence when another key has the name, in this account or, without one, in any. @throws invalid_request for a name that no key gets */
export async function nameWarnings(
  { keys }: Pick<Store, 'keys'>,
  name: string,
  accountId?: AccountId,
): Promise<string[]> {
  requireKeyName(name)
  return (await keys.isNamed(name, accountId))
    ? [`another key is called "${name}" too; tell them apart by id`]
    : []
}
