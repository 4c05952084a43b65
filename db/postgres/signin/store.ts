/** The sign-in provider's port in PostgreSQL. */
import type { SigninStore } from '#signin/store.ts'
import type { Database } from '../engine/database.ts'
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

export const createSigninStore = (database: Database): SigninStore => ({
  clients: createClients(database),
  people: createPeople(database),
  memberships: createMemberships(database),
  invitations: createInvitations(database),
  groups: createGroups(database),
  artifacts: createArtifacts(database),
  mailCodes: createMailCodes(database),
  codeMails: createCodeMails(database),
  events: createSigninEvents(database),
  logouts: createLogouts(database),
  keyring: createKeyring(database),
  identityProviders: createIdentityProviders(database),
  identities: createIdentities(database),
  detours: createDetours(database),
  passkeys: createPasskeys(database),
})
