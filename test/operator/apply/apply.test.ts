// A file is made so, and stays so: applied twice it changes nothing, and what is exported is what there is.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccountId, KeyId } from '#domain/id.ts'
import { factsOf, priceAt } from '#domain/model-card.ts'
import type { GatewayFile } from '#operator/apply/document.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { modelOf, modelsOf, providersOf, rateOf } from '#test/support/catalogue.ts'
import { anAct } from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'
import { act, openFurnished, type TestOperatorDeps } from '../deps.ts'
import { files } from './files.ts'

const RUNS = { numRuns: FULL ? 25 : 4 }

const credentialsFor = (file: GatewayFile): Record<string, string> =>
  Object.fromEntries(
    (file.providers ?? []).flatMap(({ name, from_env, credentials = [] }) => [
      ...(from_env === undefined ? [] : [[name, `key-${name}`]]),
      ...credentials.map((one) => [`${name}/${one.name}`, `key-${name}-${one.name}`]),
    ]),
  )

async function apply(deps: OperatorDeps, document: GatewayFile, prune = false) {
  const { plan } = await act(deps, 'plan', { document, prune })
  const credentials = credentialsFor(document)
  return await act(deps, 'apply', { document, prune, plan, credentials })
}

const stepsOf = async (deps: OperatorDeps, document: GatewayFile, prune = false) =>
  (await act(deps, 'plan', { document, prune })).steps

/** What a file loses and gains on its way through TOML. */
const throughToml = (file: GatewayFile): GatewayFile =>
  Bun.TOML.parse(Bun.TOML.stringify(file)) as GatewayFile

/** Everything that a file may state, asked of the store itself, without what only one gateway has. */
async function stateOf({ store, clock }: OperatorDeps) {
  const accounts = []
  for (const { id, name, memberDaily, limits } of await store.accounts.list()) {
    const { below, email, webhookUrl } = await store.thresholds.find(id)
    const { keys } = await store.keys.list({ accountId: id, includeRevoked: false, limit: 1_000 })
    const facts = keys.map(({ name, kind, note, limits, expiresAt, disabledAt }) => ({
      name,
      kind,
      note,
      limits,
      expiresAt,
      isDisabled: disabledAt !== null,
    }))
    accounts.push({
      name,
      below,
      email,
      webhookUrl,
      memberDaily,
      limits,
      members: (await membersOf(store, id)).toSorted(),
      keys: facts.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    })
  }
  return {
    accounts,
    notices: await store.noticeSettings.find(),
    rate: rateOf(store, clock.now()).rubPerUsd,
    providers: providersOf(store).map(({ createdAt: _, revision: _revision, ...rest }) => rest),
    routes: [...store.catalogue.current().routes],
    models: modelsOf(store).map(({ createdAt: _, ...card }) => ({
      ...card,
      prices: priceAt(card, clock.now())?.prices ?? null,
    })),
    clients: (await store.signin.clients.list()).map((client) => ({
      name: client.name,
      redirectUris: client.redirectUris,
      logoutUris: client.logoutUris,
      requiresPkce: client.requiresPkce,
      isForDevices: client.isForDevices,
      backchannelLogoutUri: client.backchannelLogoutUri,
      hasIdTokenClaims: client.hasIdTokenClaims,
      access: client.access,
    })),
    groups: await Promise.all(
      (await store.signin.groups.list()).map(async ({ name }) => [
        name,
        (await store.signin.groups.members(name)).map(({ email }) => email),
      ]),
    ),
  }
}

async function membersOf({ signin }: OperatorDeps['store'], id: AccountId) {
  const members: string[] = []
  for (const { personId, role } of await signin.memberships.ofAccount(id)) {
    const person = await signin.people.find(personId)
    members.push(`${person?.email.toLowerCase()} ${role}`)
  }
  return members
}

describe('whatever the file', () => {
  test('applied twice it changes nothing the second time, nor when it is exported and applied', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (file) => {
        const deps = await openFurnished()
        const first = await apply(deps, file)
        expect(first.failure).toBeNull()
        expect(await stepsOf(deps, file)).toEqual([])
        const exported = throughToml(await act(deps, 'export', {}))
        expect(await stepsOf(deps, exported, true)).toEqual([])
      }),
      RUNS,
    )
  })

  test('what is exported makes the same gateway elsewhere', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (file) => {
        const [here, there] = [await openFurnished(), await openFurnished()]
        await apply(here, file)
        const exported = throughToml(await act(here, 'export', {}))
        expect((await apply(there, exported)).failure).toBeNull()
        expect(await act(there, 'export', {})).toEqual(exported)
        expect(await stateOf(there)).toEqual(await stateOf(here))
      }),
      RUNS,
    )
  })

  test('a group that has grown beyond what one command adds is exported, and made elsewhere', async () => {
    const [here, there] = [await openFurnished(), await openFurnished()]
    const people = Array.from({ length: 1_200 }, (_, nth) => `person-${nth}@example.org`)
    for (const some of [people.slice(0, 600), people.slice(600)]) {
      await act(here, 'groups.add', { group: 'staff', people: some })
    }
    const exported = throughToml(await act(here, 'export', {}))
    expect(await stepsOf(here, exported)).toEqual([])
    expect((await apply(there, exported)).failure).toBeNull()
    expect((await stateOf(there)).groups).toEqual([['staff', people.toSorted()]])
    const fewer = { groups: [{ name: 'staff', people: ['person-7@example.org'] }] }
    expect((await apply(there, fewer)).failure).toBeNull()
    expect((await stateOf(there)).groups).toEqual([['staff', ['person-7@example.org']]])
  })

  test('a model’s bounds are the catalog’s elsewhere too, unless the file states others', async () => {
    const here = await openFurnished()
    await act(here, 'providers.add', { name: 'openai', credential: 'key-openai' })
    const typed = { model: 'openai/mine', context_length: 8_000, images: true }
    await act(here, 'models.add', { ...typed, images_per_answer: 4, wires: ['chat'] })
    const exported = throughToml(await act(here, 'export', {}))
    const models = (exported.models ?? []).map((model) =>
      model.id === 'openai/gpt-4.1' ? { ...model, context_length: 8_000 } : model,
    )

    const there = await openFurnished()
    expect((await apply(there, { ...exported, models })).failure).toBeNull()
    const cards = modelsOf(there.store)
    const others = cards.filter(({ isCatalogued }) => !isCatalogued)
    expect(others.map(({ id }) => id)).toEqual(['openai/gpt-4.1', 'openai/mine'])
    expect(cards.length).toBeGreaterThan(20)
    expect(modelOf(there.store, 'openai/mine')).toMatchObject({
      imagesPerAnswer: 4,
      wires: ['chat'],
    })

    expect((await apply(there, exported)).failure).toBeNull()
    expect(modelOf(there.store, 'openai/gpt-4.1')?.isCatalogued).toBe(true)
    expect(await stateOf(there)).toEqual(await stateOf(here))
  })

  test('bounds of an older catalog stay the catalog’s while a file repeats them', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'openai', credential: 'key-openai' })
    const { models } = deps.store
    const card = modelOf(deps.store, 'openai/gpt-4.1')!
    await models.amend(card.id, { ...factsOf(card), contextLength: 500_000 }, anAct())
    const exported = throughToml(await act(deps, 'export', {}))
    const renamed = (exported.models ?? []).map((model) => ({ ...model, name: `${model.id}!` }))
    expect((await apply(deps, { ...exported, models: renamed })).failure).toBeNull()
    expect(modelOf(deps.store, card.id)).toMatchObject({
      name: 'openai/gpt-4.1!',
      contextLength: 500_000,
      isCatalogued: true,
    })
  })

  test('no two providers are exported with one variable', async () => {
    const deps = await openFurnished()
    for (const name of ['a-b', 'a_b', 'a.b']) {
      const base_url = `https://${name.length}-${name.charCodeAt(1)}.example/v1`
      await act(deps, 'providers.add', {
        name,
        type: 'openai-compatible',
        base_url,
        credential: `sk-${name}`,
      })
    }
    const { providers = [] } = await act(deps, 'export', {})
    expect(providers?.map(({ from_env }) => from_env)).toEqual(
      expect.arrayContaining(['A_B_API_KEY', 'A_B_API_KEY_2', 'A_B_API_KEY_3']),
    )
  })

  test('pruned, one file becomes exactly another', async () => {
    await fc.assert(
      fc.asyncProperty(files, files, async (one, other) => {
        const deps = await openFurnished()
        await apply(deps, one)
        // A key cannot become another kind, and an account cannot go.
        const kinds = new Map((one.keys ?? []).map(({ name, kind }) => [name, kind ?? 'ordinary']))
        const keys = (other.keys ?? []).map((key) => ({
          ...key,
          kind: kinds.get(key.name) ?? key.kind ?? 'ordinary',
        }))
        const accounts = [...(other.accounts ?? [])]
        for (const name of ['default', 'second']) {
          if (!accounts.some((account) => account.name === name)) accounts.push({ name })
        }
        const goal = { ...other, keys, accounts }
        expect((await apply(deps, goal, true)).failure).toBeNull()
        expect(await stepsOf(deps, goal, true)).toEqual([])
        const exported = await act(deps, 'export', {})
        expect((exported.keys ?? []).map(({ name }) => name).toSorted()).toEqual(
          keys.map(({ name }) => name).toSorted(),
        )
        expect((exported.models ?? []).map(({ id }) => id).toSorted()).toEqual(
          (other.models ?? []).map(({ id }) => id).toSorted(),
        )
      }),
      RUNS,
    )
  })
})

describe('the plan is exact', () => {
  const BASE: GatewayFile = {
    rates: { usd_rub: '90' },
    accounts: [{ name: 'default', threshold_usd: '20.00' }],
    providers: [{ name: 'acme', base_url: 'https://acme.example/v1', from_env: 'ACME_KEY' }],
    models: [
      { id: 'acme/one', price: { in_usd: '1', out_usd: '2' } },
      { id: 'acme/two', price: { in_usd: '3', out_usd: '4' }, route: [{ provider: 'acme' }] },
    ],
    keys: [{ name: 'ci', rpm_limit: 60 }, { name: 'web' }],
    clients: [{ name: 'wiki', redirect_uris: ['https://wiki.example/cb'] }],
  }

  type Edit = readonly [what: string, edit: (file: Draft) => void, steps: readonly object[]]
  // biome-ignore lint/suspicious/noExplicitAny: an edit reaches wherever it likes
  type Draft = any

  const changed = (kind: string, name: string, field: string, from: unknown, to: unknown) => ({
    op: 'change',
    kind,
    name,
    changes: { [field]: { from, to } },
  })

  /** In the order in which a plan has them. */
  const EDITS: readonly Edit[] = [
    [
      'the rate',
      (f) => {
        f.rates.usd_rub = '95.50'
      },
      [changed('rate', 'USD/RUB', 'rub_per_usd', '90', '95.5')],
    ],
    [
      'a threshold',
      (f) => {
        f.accounts[0].threshold_usd = '30'
      },
      [changed('account', 'default', 'threshold_usd', '20.00', '30.00')],
    ],
    [
      'an address',
      (f) => {
        f.providers[0].base_url = 'https://acme.example/v2'
      },
      [
        changed(
          'provider',
          'acme',
          'base_url',
          'https://acme.example/v1',
          'https://acme.example/v2',
        ),
      ],
    ],
    [
      'a name',
      (f) => {
        f.models[0].name = 'One!'
      },
      [changed('model', 'acme/one', 'name', 'one', 'One!')],
    ],
    [
      'a price',
      (f) => {
        f.models[1].price.out_usd = '4.5'
      },
      [changed('model', 'acme/two', 'price.out_usd', '4', '4.5')],
    ],
    [
      'a new model',
      (f) => {
        f.models.push({ id: 'acme/three' })
      },
      [expect.objectContaining({ op: 'add', kind: 'model', name: 'acme/three' })],
    ],
    [
      'a limit',
      (f) => {
        f.keys[0].rpm_limit = 120
      },
      [changed('key', 'default/ci', 'rpm_limit', 60, 120)],
    ],
    [
      'a note',
      (f) => {
        f.keys[1].note = 'hello'
      },
      [changed('key', 'default/web', 'note', null, 'hello')],
    ],
    [
      'a new key',
      (f) => {
        f.keys.push({ name: 'new', daily_spend_limit_usd: '5' })
      },
      [
        {
          op: 'add',
          kind: 'key',
          name: 'default/new',
          fields: {
            account: 'default',
            name: 'new',
            kind: 'ordinary',
            daily_spend_limit_usd: '5.00',
            disabled: false,
          },
        },
      ],
    ],
    [
      'a redirect',
      (f) => {
        f.clients[0].redirect_uris.push('https://wiki.example/2')
      },
      [
        changed(
          'client',
          'wiki',
          'redirect_uris',
          ['https://wiki.example/cb'],
          ['https://wiki.example/cb', 'https://wiki.example/2'],
        ),
      ],
    ],
  ]

  test('any combination of edits is planned and executed, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(EDITS.map((_, n) => n)), async (chosen) => {
        const deps = await openFurnished()
        await apply(deps, BASE)
        // The key that init made is not in the file.
        const draft = structuredClone(BASE) as Draft
        for (const n of chosen) EDITS[n]?.[1](draft)
        const edited = draft as GatewayFile
        expect(await stepsOf(deps, edited)).toEqual(chosen.flatMap((n) => EDITS[n]?.[2] ?? []))
        const applied = await apply(deps, edited)
        expect(applied).toMatchObject({ failure: null, done: chosen.length })
        expect(await stepsOf(deps, edited)).toEqual([])
      }),
      { numRuns: FULL ? 40 : 6 },
    )
  })

  test('nothing is removed unless asked, then all that the sections do not name, models before providers', async () => {
    const deps = await openFurnished()
    await apply(deps, BASE)
    const file: GatewayFile = { keys: [{ name: 'ci', rpm_limit: 60 }], providers: [] }
    expect(await stepsOf(deps, file)).toEqual([])
    expect(await stepsOf(deps, file, true)).toEqual([
      { op: 'remove', kind: 'key', name: 'default/default' },
      { op: 'remove', kind: 'key', name: 'default/web' },
      { op: 'remove', kind: 'model', name: 'acme/one' },
      { op: 'remove', kind: 'model', name: 'acme/two' },
      { op: 'remove', kind: 'provider', name: 'acme' },
    ])
    expect((await apply(deps, file, true)).failure).toBeNull()
    const left = await act(deps, 'export', {})
    expect([left.models, left.providers, left.clients?.length]).toEqual([undefined, undefined, 1])
    // The demo is the binary's own.
    expect(modelsOf(deps.store).length).toBeGreaterThan(0)
  })

  test('an absent section is not changed', async () => {
    const deps = await openFurnished()
    await apply(deps, BASE)
    expect(await stepsOf(deps, {}, true)).toEqual([])
    expect(await stepsOf(deps, { keys: [] }, true)).toHaveLength(3)
  })
})

describe('executing a plan', () => {
  test('a client does not become public: the plan is refused, not its middle', async () => {
    const deps = await openFurnished()
    const clients = [{ name: 'wiki', redirect_uris: ['https://w.example/cb'] }]
    await apply(deps, { clients })
    const changed = { clients: clients.map((client) => ({ ...client, public: true })) }
    await expect(apply(deps, changed)).rejects.toThrow('cannot change "public"')
  })

  test('secrets of new keys, clients and webhooks are handed back, and work', async () => {
    const deps = await openFurnished()
    const { secrets } = await apply(deps, {
      accounts: [{ name: 'default', threshold_usd: '1', webhook_url: 'https://h.example/x' }],
      keys: [{ name: 'fresh', disabled: true }],
      clients: [{ name: 'wiki', redirect_uris: ['https://w.example/cb'] }],
    })
    expect(secrets.map(({ kind, name }) => [kind, name])).toEqual([
      ['webhook', 'default'],
      ['key', 'default/fresh'],
      ['client', 'wiki'],
    ])
    const issued = secrets.find(({ kind }) => kind === 'key')
    const shown = await act(deps, 'keys.identify', { secret: issued?.secret ?? '' })
    expect(shown).toMatchObject({ id: issued?.id, status: 'disabled' })
  })

  test('a credential is sealed, asked for again when its address changes, and leaves no trace', async () => {
    const deps = await openFurnished()
    const provider = { name: 'acme', base_url: 'https://a.example/v1', from_env: 'ACME_KEY' }
    await apply(deps, { providers: [provider] })
    expect(await deps.store.providers.credential('acme')).toBe('key-acme')
    const moved = { providers: [{ ...provider, base_url: 'https://b.example/v1' }] }
    const planned = await act(deps, 'plan', { document: moved })
    expect(planned.credentials).toEqual([{ provider: 'acme', from_env: 'ACME_KEY' }])
    const without = act(deps, 'apply', { document: moved, plan: planned.plan })
    await expect(without).rejects.toThrow(/none was sent for provider acme/)
    const input = { document: moved, plan: planned.plan, credentials: { acme: 'second' } }
    await act(deps, 'apply', input)
    expect(await deps.store.providers.credential('acme')).toBe('second')
    const acts = JSON.stringify(await act(deps, 'acts.list', {}))
    expect(acts).not.toContain('second')
    expect(acts).not.toContain('key-acme')
  })

  test('one credential in the place of several is no first one', async () => {
    const deps = await openFurnished()
    const facts = { name: 'acme', base_url: 'https://a.example/v1' }
    const credentials = ['us', 'eu'].map((name) => ({
      name,
      from_env: `ACME_${name.toUpperCase()}_KEY`,
    }))
    const several = { providers: [{ ...facts, credentials }] }
    await apply(deps, several)
    expect((await act(deps, 'plan', { document: several })).steps).toEqual([])
    const document = { providers: [{ ...facts, from_env: 'ACME_KEY' }] }
    const { steps } = await act(deps, 'plan', { document })
    expect(steps).toMatchObject([{ op: 'change', name: 'acme' }])
    expect(Object.keys((steps[0] as { changes: object }).changes)).toEqual(['credentials'])
    await apply(deps, document)
    expect(await deps.store.providers.credential('acme')).toBe('key-acme')
  })

  test('every step is an act in the log, under the name of the command that it is like', async () => {
    const deps = await openFurnished()
    deps.clock.advance(1_000)
    await apply(deps, {
      rates: { usd_rub: '91' },
      providers: [{ name: 'acme', base_url: 'https://a.example/v1' }],
      models: [{ id: 'acme/one' }],
      keys: [{ name: 'default', rpm_limit: 5, note: 'x' }],
    })
    await apply(deps, {
      models: [{ id: 'acme/one', name: 'N', price: { in_usd: '1', out_usd: '1' } }],
    })
    const acts = await act(deps, 'acts.list', { limit: 7 })
    expect(acts.map(({ verb }) => verb).toReversed()).toEqual([
      'rates.set',
      'providers.add',
      'models.add',
      'keys.edit',
      'limits.set',
      'models.edit',
      'models.price',
    ])
  })

  test('a plan that is out of date is not executed', async () => {
    const deps = await openFurnished()
    const document = { keys: [{ name: 'default', rpm_limit: 5 }] }
    const { plan } = await act(deps, 'plan', { document })
    await act(deps, 'limits.set', { keys: ['default'], rpm_limit: 6 })
    await expect(act(deps, 'apply', { document, plan })).rejects.toThrow(/something was changed/)
  })

  test('a step that fails stops it, and the secrets so far are handed back', async () => {
    const base = await openFurnished()
    const clients = {
      ...base.store.signin.clients,
      create: async () => {
        throw new Error('the disk is full')
      },
    }
    const deps: TestOperatorDeps = {
      ...base,
      store: { ...base.store, signin: { ...base.store.signin, clients } },
    }
    const applied = await apply(deps, {
      keys: [{ name: 'made' }],
      clients: [{ name: 'wiki', redirect_uris: ['https://w.example/cb'] }],
    })
    expect(applied).toMatchObject({
      done: 1,
      failure: { step: { kind: 'client', name: 'wiki' } },
      secrets: [{ kind: 'key', name: 'default/made' }],
    })
  })

  test('a price of tomorrow survives a change of the card', async () => {
    const deps = await openFurnished()
    const model = { id: 'acme/one', price: { in_usd: '1', out_usd: '1' } }
    await apply(deps, {
      providers: [{ name: 'acme', base_url: 'https://a.example/v1' }],
      models: [model],
    })
    await act(deps, 'models.price', {
      model: 'acme/one',
      in_usd: '9',
      from: '2026-08-24T00:00:00Z',
    })
    await apply(deps, { models: [{ ...model, name: 'Renamed' }] })
    deps.clock.advance(86_400_000)
    const card = await act(deps, 'models.show', { model: 'acme/one' })
    expect([card.name, card.price?.in_usd]).toEqual(['Renamed', '9'])
  })

  test('catalog brings what the binary knows, once, and leaves alone what was priced otherwise', async () => {
    const deps = await openFurnished()
    const document = { providers: [{ name: 'groq', from_env: 'K', catalog: true }] }
    const first = await apply(deps, document)
    expect(first.done).toBeGreaterThan(3)
    const [model] = (await act(deps, 'models.list', { provider: 'groq' })).filter(
      ({ price }) => price,
    )
    await act(deps, 'models.price', { model: model?.id ?? '', in_usd: '77' })
    expect(await stepsOf(deps, { ...document, models: [] }, true)).toEqual([])
  })

  test('the tools of a server in another order are no change', async () => {
    const deps = await openFurnished()
    const server_tools = { web_search: '10', web_fetch: '1' }
    const priced = { id: 'openai/tools', price: { in_usd: '1', out_usd: '2', server_tools } }
    const providers = [{ name: 'openai', from_env: 'K' }]
    await apply(deps, { providers, models: [priced] } as never)
    const turned = { ...priced.price, server_tools: { web_fetch: '1', web_search: '10' } }
    expect(
      await stepsOf(deps, { providers, models: [{ ...priced, price: turned }] } as never),
    ).toEqual([])
  })

  test('keys of one name are told apart by their ids', async () => {
    const deps = await openFurnished()
    await act(deps, 'keys.create', { name: 'default', note: 'the other' })
    const exported = await act(deps, 'export', {})
    expect(exported.keys?.every(({ id }) => id?.startsWith('key_'))).toBe(true)
    const [first] = exported.keys ?? []
    if (first) first.rpm_limit = 7
    expect(await stepsOf(deps, exported)).toMatchObject([
      { op: 'change', name: `default/${first?.id}`, changes: { rpm_limit: { from: null, to: 7 } } },
    ])
    const nameless = { keys: [{ name: 'default', rpm_limit: 3 }] }
    await expect(stepsOf(deps, nameless)).rejects.toThrow(/several keys are called "default"/)
  })

  test('a key whose name is the id of another, or whose account and name read as another’s, hinders no export', async () => {
    const deps = await openFurnished()
    const { id } = await act(deps, 'keys.create', { name: 'twin' })
    await act(deps, 'keys.create', { name: 'twin' })
    const old = await act(deps, 'keys.create', { name: 'old' })
    await deps.store.keys.amend(old.id as KeyId, { name: id }, anAct(deps.clock.now()))
    await act(deps, 'accounts.create', { name: 'default/x' })
    await act(deps, 'keys.create', { name: 'y', account: 'default/x' })
    await act(deps, 'keys.create', { name: 'x/y' })
    expect(await stepsOf(deps, throughToml(await act(deps, 'export', {})), true)).toEqual([])
    // A new one does not get such a name.
    await expect(stepsOf(deps, { keys: [{ name: 'if-Dv2QeY' }] })).rejects.toThrow(
      /must not be like/,
    )
    await stepsOf(deps, { keys: [{ name: 'if-then' }, { name: 'key_prod' }] })
    // Nor a secret in a note; one that is there stays, and is no reason to refuse the rest.
    const { key: secret } = await act(deps, 'keys.create', { name: 'noted' })
    await deps.store.keys.amend(old.id as KeyId, { note: secret }, anAct(deps.clock.now()))
    expect(await stepsOf(deps, throughToml(await act(deps, 'export', {})), true)).toEqual([])
    const noted = { keys: [{ name: 'x/y' }, { name: 'noted', note: `it is ${secret}` }] }
    await expect(stepsOf(deps, noted)).rejects.toThrow(/^keys\.1\.note: must not hold/)
  })

  test('who is invited only is in no file, and pruning leaves the invitation', async () => {
    const deps = await openFurnished()
    await act(deps, 'accounts.members.add', { email: 'ann@example.org', role: 'owner' })
    await act(deps, 'accounts.members.invite', { email: 'eve@example.org', role: 'viewer' })
    const exported = await act(deps, 'export', {})
    expect(exported.members).toEqual([
      { account: 'default', email: 'ann@example.org', role: 'owner' },
    ])
    await apply(deps, exported, true)
    expect(await act(deps, 'accounts.members.list', {})).toMatchObject([
      { email: 'ann@example.org', pending: null },
      { email: 'eve@example.org', pending: { by: null } },
    ])
  })
})

describe('an impossible file is refused before anything changes', () => {
  test.each<readonly [string, object, RegExp]>([
    [
      'money as a number',
      { keys: [{ name: 'a', daily_spend_limit_usd: 5 }] },
      /document\.keys\.0\.daily_spend_limit_usd: must be a string: send "5"/,
    ],
    ['a misspelt field', { keys: [{ name: 'a', rpm: 5 }] }, /rpm/],
    ['a misspelt section', { key: [] }, /key/],
    [
      'a secret in the file',
      { providers: [{ name: 'acme', credential: 'sk-canary' }] },
      /credential/,
    ],
    [
      'a variable that is a secret',
      { providers: [{ name: 'openai', from_env: 'sk-canary-1' }] },
      /name of a variable/,
    ],
    ['the same twice', { keys: [{ name: 'a' }, { name: 'a' }] }, /stated twice/],
    [
      'another kind of key',
      { keys: [{ name: 'default', kind: 'provisioning' }] },
      /cannot become another kind/,
    ],
    ['an id of elsewhere', { keys: [{ name: 'a', id: 'key_x' }] }, /there is no key key_x/],
    ['a model that nobody serves', { models: [{ id: 'gone/one' }] }, /would be served by gone/],
    [
      'a key of no account',
      { keys: [{ name: 'a', account: 'none' }] },
      /neither here nor in the file/,
    ],
    ['the demo', { providers: [{ name: 'demo' }] }, /built in/],
    [
      'a webhook in clear text',
      { accounts: [{ name: 'default', webhook_url: 'http://h.example' }] },
      /https/,
    ],
    [
      'a webhook without slashes',
      { accounts: [{ name: 'default', webhook_url: 'https:h.example' }] },
      /an address such as/,
    ],
    [
      'a base URL without slashes',
      { providers: [{ name: 'acme', type: 'openai-compatible', base_url: 'https:h.example' }] },
      /base_url must be a plain http or https address/,
    ],
    [
      'a redirect URI without slashes',
      { clients: [{ name: 'wiki', redirect_uris: ['https:w.example/cb'] }] },
      /"https:w.example\/cb" is not an absolute address/,
    ],
    [
      'a logout URI without slashes',
      { clients: [{ name: 'wiki', redirect_uris: ['https://w/cb'], logout_uris: ['https:w/'] }] },
      /"https:w\/" is not an absolute address/,
    ],
  ])('%s', async (_, document, words) => {
    const deps = await openFurnished()
    const planned = act(deps, 'plan', { document } as never)
    await expect(planned).rejects.toThrow(words)
    await expect(planned).rejects.not.toThrow(/canary/)
  })
})
