/** The sign-in provider's port, on either engine. */
import type { SigninStore } from '#signin/store.ts'
import type { Engine } from '../statements.ts'
import { createArtifacts } from './artifacts.ts'
import { createClients } from './clients.ts'
import { createCodeMails } from './code-mails.ts'
import { createDetours } from './detours.ts'
import { createSigninEvents } from './events.ts'
import { createGroups } from './groups.ts'
import { createIdentities } from './identities.ts'
import { createIdentityProviders } from './identity-providers.ts'
import { createInvitations } from './invitations.ts'
import { createKeyring } from './keyring.ts'
import { createLogouts } from './logouts.ts'
import { createMailCodes } from './mail-codes.ts'
import { createMemberships } from './memberships.ts'
import { createPasskeys } from './passkeys.ts'
import { createPeople } from './people.ts'

export const createSigninStore = (engine: Engine): SigninStore => ({
  clients: createClients(engine),
  people: createPeople(engine),
  memberships: createMemberships(engine),
  invitations: createInvitations(engine),
  groups: createGroups(engine),
  artifacts: createArtifacts(engine),
  mailCodes: createMailCodes(engine),
  codeMails: createCodeMails(engine),
  events: createSigninEvents(engine),
  logouts: createLogouts(engine),
  keyring: createKeyring(engine),
  identityProviders: createIdentityProviders(engine),
  identities: createIdentities(engine),
  detours: createDetours(engine),
  passkeys: createPasskeys(engine),
})
