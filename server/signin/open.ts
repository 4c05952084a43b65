/** Opens the side house: its keys, its provider, its door, and the sweeping of what has expired. */
import { createDoor, type Door } from './app.ts'
import { openIdentityDesk } from './identities/desk.ts'
import { openCodeDesk } from './mail-code.ts'
import { createProvider } from './provider.ts'
import { randomSecret } from './register/digest.ts'
import type { Keyring, SecretName } from './register/keyring.ts'
import { newSigningKey } from './register/signing-key.ts'
import type { SideHouse } from './side-house.ts'
import { startSweeping } from './sweep.ts'
import type { Rooms } from './visit.ts'
import { boundVisits } from './visit-bound.ts'

export interface OpenSideHouse extends Door {
  /** Sweeps no more. Requests under way end by themselves. */
  close(): void
}

/** Makes the first signing key where there is none. @throws when the program was built wrongly, or has no master key */
export async function openSideHouse(house: SideHouse): Promise<OpenSideHouse> {
  const { keyring } = house.store
  const current = await keyring.current()
  // With the master key lost, so are the keys it sealed: new ones take their place.
  if (!(await keyring.signingKeys()).some(({ id }) => id === current)) {
    await keyring.addSigningKey(await newSigningKey(house.clock.now()))
  }
  const cookies = await secretOf(keyring, 'cookies')
  const desk = openCodeDesk(house, await secretOf(keyring, 'mail-codes'))
  const identities = openIdentityDesk(house, await secretOf(keyring, 'identities'))
  const [visits, detours] = [boundVisits(house.clock), boundVisits(house.clock)]

  const furnish = async (
    current: string | null,
  ): Promise<Rooms & { readonly current: string | null }> => {
    const keys = { signing: await keyring.signingKeys(), cookies }
    const provider = createProvider(house, keys, visits)
    return { house, provider, desk, identities, visits, detours, current }
  }
  let rooms = await furnish(await keyring.current())

  const door = createDoor(rooms, async () => {
    const current = await keyring.current()
    if (current !== rooms.current) rooms = await furnish(current)
    return rooms
  })
  return { answer: door.answer, close: startSweeping(house) }
}

/** An empty or short key signs, and verifies, as readily as any: whoever guesses it signs what they like. */
async function secretOf(keyring: Keyring, name: SecretName): Promise<string> {
  const fresh = randomSecret()
  const secret = await keyring.secret(name, fresh)
  if (secret.length < fresh.length) throw new Error(`the kept secret for ${name} is too short`)
  return secret
}
