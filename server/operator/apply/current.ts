/** Reads the current state as entities, without the built-in demo provider and its models. */
import type { ApiKey } from '#domain/key.ts'
import { withThresholds } from '#domain/low-balance.ts'
import { rateAt } from '#domain/rate.ts'
import { isMask } from '#domain/route.ts'
import type { OperatorDeps } from '../deps.ts'
import { openAccounts } from '../find-account.ts'
import { listAllKeys } from '../list-keys.ts'
import { listMembers } from '../members.ts'
import { perform } from '../verb.ts'
import {
  accountEntity,
  aliasEntity,
  clientEntity,
  DEMO,
  type Entity,
  groupEntity,
  keyEntity,
  memberEntity,
  modelEntity,
  noticesEntity,
  providerEntity,
  rateEntity,
  routeEntity,
} from './entity.ts'

/** Without revoked keys, and without the rate unless an operator set it. */
export async function readCurrent(deps: OperatorDeps): Promise<readonly Entity[]> {
  const { store, clock } = deps
  const at = clock.now()
  const catalogue = store.catalogue.current()
  const rate = rateAt(catalogue, at)
  const providers = [...catalogue.providers.values()]
  const demo = new Set(providers.filter(({ type }) => type === DEMO).map(({ name }) => name))
  const cards = [...catalogue.models.values()].filter(({ provider }) => !demo.has(provider))
  return [
    ...(rate.setByOperator ? [rateEntity(rate.rubPerUsd)] : []),
    noticesEntity(await store.noticeSettings.find()),
    ...(await currentAccounts(deps)),
    ...(await currentMembers(deps)),
    ...providers.filter(({ name }) => !demo.has(name)).map(providerEntity),
    ...cards.map((card) => modelEntity(card, at)),
    ...[...catalogue.routes.values()].filter(({ pattern }) => isMask(pattern)).map(routeEntity),
    ...[...catalogue.aliases].map(([name, model]) => aliasEntity({ name, model })),
    ...(await currentKeys(deps)),
    ...(await currentClients(deps)),
    ...(await currentGroups(deps)),
  ]
}

async function currentAccounts(deps: OperatorDeps): Promise<readonly Entity[]> {
  const accounts = await withThresholds(deps.store.thresholds, await openAccounts(deps))
  return accounts.map(([account, threshold]) => accountEntity(account, threshold))
}

async function currentMembers(deps: OperatorDeps): Promise<readonly Entity[]> {
  const entities: Entity[] = []
  for (const { name } of await openAccounts(deps)) {
    const listed = await perform(listMembers, deps, { account: name })
    // Whoever is invited only is no member: applied, the file would make one of somebody who has not accepted.
    const members = listed.filter(({ pending }) => pending === null)
    const ofAccount = members.map(({ email, role }) => memberEntity(name, email, role))
    // By address: those that one file added are of the same instant.
    entities.push(...ofAccount.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
  }
  return entities
}

async function currentKeys(deps: OperatorDeps): Promise<readonly Entity[]> {
  const all: { readonly account: string; readonly key: ApiKey }[] = []
  for (const { id, name } of await openAccounts(deps)) {
    const keys = await listAllKeys(deps, false, id)
    all.push(...keys.toReversed().map((key) => ({ account: name, key })))
  }
  const shared = repeated(
    all.flatMap(({ account, key }) => [`${account}/${key.name}`, `${account}/${key.id}`]),
  )
  return all.map(({ account, key }) => {
    const title = shared.has(`${account}/${key.name}`) ? key.id : key.name
    return keyEntity(account, title, key.id, { ...key, isDisabled: key.disabledAt !== null })
  })
}

async function currentClients({ store }: OperatorDeps): Promise<readonly Entity[]> {
  const clients = await store.signin.clients.list()
  const shared = repeated(clients.flatMap(({ name, id }) => [name, id]))
  return clients.map((client) =>
    clientEntity(shared.has(client.name) ? client.id : client.name, client.id, {
      ...client,
      isPublic: client.secretDigest === null,
    }),
  )
}

async function currentGroups({ store }: OperatorDeps): Promise<readonly Entity[]> {
  const { groups } = store.signin
  const members = (await groups.list()).map(async ({ name }) => {
    return groupEntity(
      name,
      (await groups.members(name)).map(({ email }) => email),
    )
  })
  return Promise.all(members)
}

/** Names that several have, or of which one is another's id: they tell nothing apart. */
function repeated(titles: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  return new Set(titles.filter((title) => seen.has(title) || !seen.add(title)))
}
