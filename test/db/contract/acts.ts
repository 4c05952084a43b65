/** What every engine promises about the log of acts: written once, with its change or not at all, read newest first, kept. */

import { describe, expect, test } from 'vitest'
import { type Act, draftAct } from '#domain/act.ts'
import { instant, later } from '#domain/clock.ts'
import { draftEvent } from '#domain/event.ts'
import { onlyCredential } from '#domain/provider.ts'
import { newSecret } from '#domain/secret.ts'
import type { Client } from '#signin/register/client.ts'
import type { IdentityProvider } from '#signin/register/identity-provider.ts'
import type { Invitation } from '#signin/register/invitation.ts'
import { newPerson } from '#signin/register/person.ts'
import type { GatewayStore } from '#signin/store.ts'
import {
  aCard,
  aHop,
  aKey,
  aNotice,
  anAccount,
  anAct,
  aProvider,
  aRoute,
  aTopUp,
  aVersion,
  perM,
  rate,
  usd,
} from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'
import { putArtifact } from './write-artifacts.ts'

/** A change that takes its act along. */
interface Change {
  readonly make: (store: GatewayStore, act: Act) => Promise<unknown>
  /** What the act gains in the transaction of the change. */
  readonly gains?: Act['changed']
}

const AT = anAct().at
const KEY = aKey(AT, {}, { id: 'key_1' })
const SECRET = newSecret()
const NOTICE = aNotice(AT)
const CLIENT: Client = {
  id: 'wiki_1',
  name: 'Wiki',
  redirectUris: ['https://app.example.org/callback'],
  logoutUris: [],
  requiresPkce: true,
  access: 'everybody',
  secretDigest: 'ab'.repeat(32),
  isForDevices: false,
  backchannelLogoutUri: null,
  hasIdTokenClaims: true,
  createdAt: AT,
  updatedAt: AT,
}
const IDENTITY_PROVIDER: IdentityProvider = {
  name: 'sso',
  type: 'oidc',
  issuer: 'https://sso.example.org',
  label: 'SSO',
  clientId: 'gateway',
  authoritativeFor: [],
  createdAt: AT,
  updatedAt: AT,
}
const ANN = newPerson('ann@example.org', AT)
const LINKED = { issuer: IDENTITY_PROVIDER.issuer, subject: 's-1', claimedName: null }
const MEMBER = { accountId: 'acct_1', personId: ANN.id, role: 'member', since: AT } as const
const EVE = { ...newPerson('eve@example.org', AT), isEmailVerified: true }
const INVITATION: Invitation = {
  id: 'inv_1',
  accountId: 'acct_1',
  email: EVE.email,
  role: 'viewer',
  by: null,
  sentAt: AT,
  expiresAt: instant(4_000_000_000_000),
}
const SESSION = {
  kind: 'Session',
  digest: 'ef'.repeat(32),
  payload: '{}',
  grantId: null,
  uid: 'uid-1',
  personId: ANN.id,
  clientId: null,
  consumedAt: null,
  expiresAt: instant(4_000_000_000_000),
} as const

/** Every method that changes something at somebody's word, in a gateway with one of everything. */
const CHANGES: Readonly<Record<string, Change>> = {
  'accounts.create': {
    make: ({ accounts }, act) => accounts.create(anAccount({ id: 'acct_2', name: 'b' }), act),
  },
  'accounts.amend': {
    make: ({ accounts }, act) => accounts.amend('acct_1', { name: 'b', limits: { rpm: 5 } }, act),
    gains: { name: { from: 'default', to: 'b' }, rpm_limit: { from: null, to: 5 } },
  },
  'accounts.close': {
    make: ({ accounts }, act) => accounts.close('acct_3', act),
  },
  'keys.move': { make: ({ keys }, act) => keys.move('key_1', 'acct_3', act) },
  'keys.issue': { make: ({ keys }, act) => keys.issue({ ...KEY, id: 'key_2' }, newSecret(), act) },
  'keys.amend': {
    make: ({ keys }, act) => keys.amend('key_1', { disabled: true, limits: { rpm: 5 } }, act),
    gains: { rpm_limit: { from: null, to: 5 }, disabled: { from: false, to: true } },
  },
  'keys.rotate': { make: ({ keys }, act) => keys.rotate('key_1', newSecret(), null, act) },
  'keys.revoke': { make: ({ keys }, act) => keys.revoke('key_1', act) },
  'ledger.credit': {
    make: ({ ledger }, act) => ledger.credit(aTopUp(AT, usd('1')), act),
  },
  'thresholds.set': {
    make: ({ thresholds }, act) => {
      const webhookUrl = 'https://hooks.example.org/hidden'
      const change = { accountId: 'acct_1', below: usd('9'), webhookUrl } as const
      return thresholds.set(change, { secret: 'whsec_1', rotates: false }, act)
    },
    gains: {
      threshold_usd: { from: null, to: '9.00' },
      webhook: { from: null, to: 'https://hooks.example.org' },
      webhook_secret: 'new',
    },
  },
  'events.raise': {
    make: ({ events }, act) =>
      events.raise(draftEvent('gateway.sweep_failed', { reason: 'x' }, AT), act),
  },
  'noticeSettings.set': {
    make: ({ noticeSettings }, act) => {
      const change = { email: 'ops@example.org', webhookUrl: 'https://hooks.example.org/hidden' }
      return noticeSettings.set(change, { secret: 'whsec_1', rotates: false }, act)
    },
    gains: {
      email: { from: null, to: 'ops@example.org' },
      webhook: { from: null, to: 'https://hooks.example.org' },
      webhook_secret: 'new',
    },
  },
  'notices.post': { make: ({ notices }, act) => notices.post([aNotice(AT)], act) },
  'models.add': {
    make: ({ models }, act) => models.add(aCard({ id: 'acme/large' }), act),
  },
  'models.price': {
    make: ({ models }, act) => models.price('acme/small', aVersion({ prompt: perM('9') }), act),
  },
  'models.unprice': { make: ({ models }, act) => models.unprice('acme/small', act) },
  'models.amend': { make: ({ models }, act) => models.amend('acme/small', { name: 'S' }, act) },
  'models.route': { make: ({ models }, act) => models.route(aRoute('acme/small', [aHop()]), act) },
  'models.remove': { make: ({ models }, act) => models.remove('acme/small', act) },
  'providers.add': {
    make: ({ providers }, act) => {
      const cards = [aCard({ id: 'other/one', provider: 'other' })]
      return providers.add(aProvider({ name: 'other' }), onlyCredential('sk-other'), cards, act)
    },
  },
  'providers.edit': {
    make: ({ providers }, act) => {
      const amendment = { outputBound: 'none' as const, credentials: onlyCredential('sk-new') }
      return providers.edit('acme', amendment, act)
    },
    gains: { output_bound: { from: 'both', to: 'none' }, credential: 'changed' },
  },
  'providers.remove': { make: ({ providers }, act) => providers.remove('acme', act) },
  'rates.set': { make: ({ rates }, act) => rates.set(rate('95'), AT, act) },
  'clients.create': {
    make: ({ signin }, act) => signin.clients.create({ ...CLIENT, id: 'wiki_2' }, act),
  },
  'clients.amend': {
    make: ({ signin }, act) => signin.clients.amend('wiki_1', { name: 'Other' }, act),
    gains: {
      name: 'Other',
      redirect_uris: CLIENT.redirectUris,
      logout_uris: [],
      require_pkce: true,
      public: false,
      device: false,
      backchannel_logout_uri: null,
      id_token_claims: true,
      allowed: null,
    },
  },
  'clients.remove': { make: ({ signin }, act) => signin.clients.remove('wiki_1', act) },
  'people.add': {
    make: ({ signin }, act) => signin.people.add(newPerson('bob@example.org', AT), act),
  },
  'people.amend': {
    make: ({ signin }, act) => signin.people.amend(ANN.id, { name: 'Ann' }, act),
  },
  'people.setDisabled': {
    make: ({ signin }, act) => signin.people.setDisabled(ANN.id, true, act),
  },
  'groups.add': { make: ({ signin }, act) => signin.groups.add('staff', ANN.id, null, act) },
  'groups.remove': { make: ({ signin }, act) => signin.groups.remove('guests', ANN.id, act) },
  'people.remove': { make: ({ signin }, act) => signin.people.remove(ANN.id, act) },
  'artifacts.revokePerson': {
    make: ({ signin }, act) => signin.artifacts.revokePerson(ANN.id, act),
    gains: { ended_sessions: 1 },
  },
  'identityProviders.add': {
    make: ({ signin }, act) => {
      const other = { ...IDENTITY_PROVIDER, name: 'other', issuer: 'https://other.example.org' }
      return signin.identityProviders.add(other, 'shh', act)
    },
  },
  'identityProviders.amend': {
    make: ({ signin }, act) => signin.identityProviders.amend('sso', { label: 'Staff' }, act),
    gains: {
      type: 'oidc',
      label: 'Staff',
      issuer: IDENTITY_PROVIDER.issuer,
      client_id: 'gateway',
      authoritative_for: [],
    },
  },
  'identityProviders.remove': {
    make: ({ signin }, act) => signin.identityProviders.remove('sso', act),
  },
  'people.setLanguage': {
    make: ({ signin }, act) => signin.people.setLanguage(ANN.id, 'ru', act),
    gains: { language: { from: null, to: 'ru' } },
  },
  'memberships.put': {
    make: ({ signin }, act) => signin.memberships.put({ ...MEMBER, role: 'owner' }, null, act),
    gains: { role: { from: 'member', to: 'owner' } },
  },
  'memberships.remove': {
    make: ({ signin }, act) => signin.memberships.remove('acct_1', ANN.id, act),
  },
  'invitations.send': {
    make: ({ signin }, act) =>
      signin.invitations.send({ ...INVITATION, id: 'inv_2', email: 'cy@example.org' }, null, act),
  },
  'invitations.accept': {
    make: ({ signin }, act) => signin.invitations.accept('inv_1', EVE.id, act),
    gains: { role: { from: null, to: 'viewer' } },
  },
  'invitations.end': { make: ({ signin }, act) => signin.invitations.end('inv_1', act) },
  'artifacts.end': { make: ({ signin }, act) => signin.artifacts.end([SESSION], act) },
  'identities.link': {
    make: ({ signin }, act) =>
      signin.identities.link({ ...LINKED, subject: 's-2' }, ANN.id, AT, 0, act),
  },
  'identities.unlink': {
    make: ({ signin }, act) => signin.identities.unlink(ANN.id, IDENTITY_PROVIDER.issuer, act),
  },
}

async function furnish(store: GatewayStore): Promise<void> {
  const { accounts, keys, notices, providers, signin } = store
  await accounts.create(anAccount({ id: 'acct_3', name: 'c' }), anAct())
  await providers.add(aProvider(), onlyCredential('sk-acme'), [aCard()], anAct())
  await keys.issue(KEY, SECRET, anAct())
  await notices.post([NOTICE], anAct())
  await signin.clients.create(CLIENT, anAct())
  await signin.people.add(ANN, anAct())
  await signin.groups.add('guests', ANN.id, null, anAct())
  await signin.identityProviders.add(IDENTITY_PROVIDER, 'shh', anAct())
  await signin.identities.link(LINKED, ANN.id, AT, 0)
  await signin.memberships.put(MEMBER, null, anAct())
  await signin.people.add(EVE, anAct())
  await signin.invitations.send(INVITATION, null, anAct())
  await putArtifact(signin, SESSION)
}

/** All that the changes change. */
const stateOf = async ({
  accounts,
  keys,
  ledger,
  thresholds,
  notices,
  catalogue,
  providers,
  signin,
  events,
  noticeSettings,
}: GatewayStore) => [
  await accounts.list(),
  (await keys.list({ includeRevoked: true, limit: 9 })).keys,
  await keys.findBySecret(SECRET, AT),
  await ledger.list({ limit: 9 }),
  [await thresholds.find('acct_1'), await thresholds.webhookSecret('acct_1')],
  await notices.list({ limit: 9 }),
  await events.list({ limit: 9 }),
  [await noticeSettings.find(), await noticeSettings.webhookSecret()],
  catalogue.current(),
  await providers.credential('acme').catch(() => null),
  await signin.clients.list(),
  await signin.people.list({ limit: 9 }),
  await signin.groups.list(),
  await signin.artifacts.revocations(),
  await signin.identityProviders.list(),
  await signin.identities.ofPerson(ANN.id),
  await signin.memberships.ofPerson(ANN.id),
  await signin.memberships.ofPerson(EVE.id),
  await signin.invitations.ofAccount('acct_1', AT),
  await signin.artifacts.ofPerson('Session', ANN.id, AT),
]

export function actsContract(bench: Bench): void {
  async function note(verb: string, stated: Partial<Act> = {}): Promise<Act> {
    const facts = { target: 'key_1', changed: { rpm_limit: { from: null, to: 60 } } }
    const act = { ...draftAct(bench.clock.now(), 'uid 7 (ann)', verb, facts), ...stated }
    await bench.store.acts.note(act)
    return act
  }

  test('an act is kept as it was noted, newest first', async () => {
    const start = bench.clock.now()
    const first = await note('limits.set', { target: null, who: "o'neil ☃" })
    const second = await note('keys.edit')
    bench.clock.advance(1_000)
    const third = await note('keys.revoke', { changed: { 'a "quoted" name': ['x', { y: 1.5 }] } })
    await bench.restart()
    const list = (query: object = {}) => bench.store.acts.list({ limit: 9, since: start, ...query })
    expect(await list()).toEqual([third, second, first])
    expect(await list({ limit: 1 })).toEqual([third])
    expect(await list({ before: third.id })).toEqual([second, first])
    expect(await list({ before: first.id })).toEqual([])
    expect(await list({ verb: 'keys.edit' })).toEqual([second])
    expect(await list({ nouns: ['limits', 'users'] })).toEqual([first])
    expect(await list({ nouns: ['keys'], target: 'key_1' })).toEqual([third, second])
    expect(await list({ nouns: ['key'] })).toEqual([])
    expect(await list({ nouns: ['keys.'] })).toEqual([])
    expect(await list({ since: later(start, 1_000) })).toEqual([third])
    expect(await list({ until: later(start, 1_000) })).toEqual([second, first])
    expect(await list({ since: later(start, 1), until: later(start, 1_000) })).toEqual([])
    const bare = await note('backup')
    expect(await list({ nouns: ['keys', 'backup'], limit: 1 })).toEqual([third])
    expect(await list({ limit: 1 })).toEqual([bare])
  })

  test('one id is noted once', async () => {
    const act = await note('limits.set')
    await expect(note('limits.set', { id: act.id })).rejects.toThrow()
    expect(await bench.store.acts.list({ limit: 9, since: act.at })).toEqual([act])
  })

  describe('a change and its act are one', () => {
    test.each(Object.entries(CHANGES))('%s', async (_, { make, gains }) => {
      const { store, clock } = bench
      await furnish(store)
      const before = await stateOf(store)
      const taken = await note('taken')
      await expect(make(store, anAct(clock.now(), { id: taken.id }))).rejects.toThrow()
      expect(await stateOf(store)).toEqual(before)

      const changed = gains === undefined ? { told: 'before' } : {}
      const act = anAct(clock.now(), { changed })
      await make(store, act)
      expect(await stateOf(store)).not.toEqual(before)
      await bench.restart()
      const [noted, ...others] = (
        await bench.store.acts.list({ limit: 9, since: clock.now() })
      ).filter(({ id }) => id !== taken.id)
      expect(noted).toEqual({ ...act, changed: { ...changed, ...gains } })
      expect(others).toEqual([])
    })

    test('where nothing changes there is no act', async () => {
      const { store, clock } = bench
      await furnish(store)
      await store.keys.revoke('key_1', anAct())
      const silent = () => anAct(clock.now(), { changed: {} })
      await store.accounts.amend('acct_1', { name: 'default' }, silent())
      await store.keys.revoke('key_1', anAct(clock.now()))
      expect(await store.acts.list({ limit: 9, since: clock.now() })).toEqual([])
    })

    test('two editors at once: each act says what it found', async () => {
      const { store, clock } = bench
      await furnish(store)
      await Promise.all(
        [5, 7].map((rpm) =>
          store.keys.amend('key_1', { limits: { rpm } }, anAct(clock.now(), { changed: {} })),
        ),
      )
      const acts = await store.acts.list({ limit: 9, since: clock.now() })
      expect(acts.map(({ changed }) => changed['rpm_limit'])).toEqual(
        expect.arrayContaining([
          { from: null, to: 5 },
          { from: 5, to: 7 },
        ]),
      )
    })
  })
}
