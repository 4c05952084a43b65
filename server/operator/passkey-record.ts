/** A passkey, as lists show it. */
import { renderInstant } from '#domain/clock.ts'
import type { Passkey } from '#signin/register/passkey.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'

export interface PasskeyRecord {
  readonly id: string
  /** What keeps it: `Apple Passwords`, `Chrome, Linux`. */
  readonly name: string
  /** Whether it is copied between a person's devices. */
  readonly synced: boolean
  readonly created_at: string
  readonly last_used_at: string | null
}

const render = ({ id, name, isSynced, createdAt, lastUsedAt }: Passkey): PasskeyRecord => ({
  id,
  name,
  synced: isSynced,
  created_at: renderInstant(createdAt),
  last_used_at: renderInstant(lastUsedAt),
})

/** Oldest first. */
export const passkeysOf = async (
  { store }: Pick<OperatorDeps, 'store'>,
  personId: PersonId,
): Promise<readonly PasskeyRecord[]> => (await store.signin.passkeys.ofPerson(personId)).map(render)
