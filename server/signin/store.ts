/** The sign-in provider's port to the store. Every method is atomic. */
import type { Store } from '#domain/store.ts'
import type { Artifacts } from './register/artifact.ts'
import type { Clients } from './register/client.ts'
import type { CodeMails } from './register/code-mail.ts'
import type { Detours } from './register/detour.ts'
import type { Groups } from './register/group.ts'
import type { Identities } from './register/identity.ts'
import type { IdentityProviders } from './register/identity-provider.ts'
import type { Invitations } from './register/invitation.ts'
import type { Keyring } from './register/keyring.ts'
import type { Logouts } from './register/logout.ts'
import type { MailCodes } from './register/mail-code.ts'
import type { Memberships } from './register/membership.ts'
import type { Passkeys } from './register/passkey.ts'
import type { People } from './register/person.ts'
import type { SigninEvents } from './register/signin-event.ts'

export interface SigninStore {
  readonly clients: Clients
  readonly people: People
  readonly memberships: Memberships
  readonly invitations: Invitations
  readonly groups: Groups
  readonly artifacts: Artifacts
  readonly mailCodes: MailCodes
  readonly codeMails: CodeMails
  readonly events: SigninEvents
  readonly logouts: Logouts
  readonly keyring: Keyring
  readonly identityProviders: IdentityProviders
  readonly identities: Identities
  readonly detours: Detours
  readonly passkeys: Passkeys
}

/** All ports that a store engine implements: the domain's and the sign-in provider's. */
export interface GatewayStore extends Store {
  readonly signin: SigninStore
}
