/** The sign-in provider's port on the engine's one connection; each part is loaded when it is first used. */
import type { SigninStore } from '#signin/store.ts'
import type { Connection } from '../engine/connection.ts'
import { lazyPort } from '../engine/lazy-port.ts'

export function createSigninStore(connection: Connection): SigninStore {
  return {
    clients: lazyPort(
      { create: true, find: true, list: true, count: true, amend: true, remove: true },
      async () => (await import('./clients.ts')).createClients(connection),
    ),
    people: lazyPort(
      {
        add: true,
        find: true,
        findByEmail: true,
        list: true,
        count: true,
        confirmEmail: true,
        amend: true,
        setDisabled: true,
        setLanguage: true,
        remove: true,
      },
      async () => (await import('./people.ts')).createPeople(connection),
    ),
    memberships: lazyPort(
      { put: true, remove: true, find: true, ofAccount: true, ofPerson: true },
      async () => (await import('./memberships.ts')).createMemberships(connection),
    ),
    invitations: lazyPort(
      { send: true, accept: true, end: true, ofAccount: true, toAddress: true, sweep: true },
      async () => (await import('./invitations.ts')).createInvitations(connection),
    ),
    groups: lazyPort(
      { add: true, remove: true, ofPerson: true, members: true, list: true },
      async () => (await import('./groups.ts')).createGroups(connection),
    ),
    artifacts: lazyPort(
      {
        write: true,
        revocations: true,
        find: true,
        findByUid: true,
        revokePerson: true,
        countSessions: true,
        ofPerson: true,
        end: true,
        sweep: true,
      },
      async () => (await import('./artifacts.ts')).createArtifacts(connection),
    ),
    mailCodes: lazyPort(
      { issue: true, issuedTo: true, pending: true, redeem: true, drop: true, sweep: true },
      async () => (await import('./mail-codes.ts')).createMailCodes(connection),
    ),
    codeMails: lazyPort({ add: true, claim: true, reschedule: true, drop: true }, async () =>
      (await import('./code-mails.ts')).createCodeMails(connection),
    ),
    events: lazyPort({ list: true, trim: true }, async () =>
      (await import('./events.ts')).createSigninEvents(connection),
    ),
    logouts: lazyPort({ claim: true, reschedule: true, drop: true }, async () =>
      (await import('./logouts.ts')).createLogouts(connection),
    ),
    keyring: lazyPort(
      { signingKeys: true, current: true, addSigningKey: true, secret: true, sweep: true },
      async () => (await import('./keyring.ts')).createKeyring(connection),
    ),
    ...otherWays(connection),
  }
}

/** To sign in without a code. */
const otherWays = (
  connection: Connection,
): Pick<SigninStore, 'identityProviders' | 'identities' | 'detours' | 'passkeys'> => ({
  identityProviders: lazyPort(
    { add: true, find: true, list: true, amend: true, remove: true, secret: true },
    async () => (await import('./identity-providers.ts')).createIdentityProviders(connection),
  ),
  identities: lazyPort(
    { recognise: true, link: true, ofPerson: true, countPeople: true, unlink: true },
    async () => (await import('./identities.ts')).createIdentities(connection),
  ),
  detours: lazyPort(
    {
      begin: true,
      end: true,
      keepIdentity: true,
      pendingIdentity: true,
      drop: true,
      sweep: true,
    },
    async () => (await import('./detours.ts')).createDetours(connection),
  ),
  passkeys: lazyPort(
    {
      challenge: true,
      take: true,
      add: true,
      find: true,
      ofPerson: true,
      use: true,
      remove: true,
      sweep: true,
    },
    async () => (await import('./passkeys.ts')).createPasskeys(connection),
  ),
})
