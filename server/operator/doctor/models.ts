/** Checks what requests depend on: exchange rate, providers, prices, routes, masks. */
import { DAY_MS, type Instant, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { idleMasks } from '#domain/key.ts'
import { type ModelCard, priceAt, routeOf } from '#domain/model-card.ts'
import { renderRubPerUsd } from '#domain/money.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { rateAt } from '#domain/rate.ts'
import type { RouteHop } from '#domain/route.ts'
import { shellWord } from '#forms/shell-word.ts'
import { SHIPPED_PRICES_AT } from '../catalog.ts'
import { checkCredential } from '../credential.ts'
import { credentialTroubles, describeTrouble, remedyOf } from '../credential-trouble.ts'
import type { OperatorDeps } from '../deps.ts'
import { listAllKeys } from '../list-keys.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { rethrowTrouble, unreadable } from './unreadable.ts'

/** Whether an operator has set the rate. */
export async function checkRate({ store, clock }: OperatorDeps): Promise<readonly Finding[]> {
  const { rubPerUsd, setByOperator } = rateAt(store.catalogue.current(), clock.now())
  const rate = `USD/RUB ${renderRubPerUsd(rubPerUsd)}`
  return [
    setByOperator
      ? ok('rate', rate)
      : warning(
          'rate',
          `${rate} is the default: nobody has set it`,
          'gatewayctl rates set USD/RUB 92.50',
        ),
  ]
}

/** Whether every credential can be decrypted and none is a key of this gateway. */
export async function checkProviders(deps: OperatorDeps): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const provider of deps.store.catalogue.current().providers.values()) {
    const { name, type, credentials } = provider
    const isOfMachine = PROVIDER_PRESETS[type].cloud !== undefined
    for (const credential of credentials) {
      findings.push(await checkStored(deps, provider, credential.name))
    }
    if (credentials.length > 0) continue
    const role = isOfMachine ? ': the role of this machine' : ''
    findings.push(ok('provider', `provider ${name}${role}`))
  }
  if (findings.length > 0) return findings
  const next = 'gatewayctl providers add openai --from-env OPENAI_API_KEY'
  return [warning('provider', 'there is no provider', next)]
}

async function checkStored(
  deps: OperatorDeps,
  provider: Provider,
  credentialName: string,
): Promise<Finding> {
  const { credentials } = provider
  const isOnly = credentials.length === 1
  const name = isOnly ? provider.name : `${provider.name}, credential ${credentialName}`
  const replace = isOnly
    ? `gatewayctl providers edit ${provider.name} --key-file -`
    : `gatewayctl providers credentials add ${provider.name} ${credentialName} --key-file -`
  try {
    const credential = await deps.store.providers.credential(provider.name, credentialName)
    const unusable = findUnusable(provider, credential)
    if (unusable !== null) return problem('provider', `provider ${name}: ${unusable}`, replace)
    return credential?.startsWith('if-')
      ? problem(
          'provider',
          `provider ${name} has a key starting with if- : the gateway would call itself`,
          replace,
        )
      : ok('provider', `provider ${name}: credential readable`)
  } catch (cause) {
    rethrowTrouble(cause)
    return await unreadable(deps, 'provider', `the credential of provider ${name}`, replace)
  }
}

/** What its type has against it; null for nothing. */
function findUnusable(provider: Provider, credential: string | null): string | null {
  try {
    checkCredential(provider, credential)
    return null
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.message
    throw thrown
  }
}

/** Requests to a model without a price are refused; one that nobody has looked at for a year is probably not the vendor's. */
export async function checkPrices({ store, clock }: OperatorDeps): Promise<readonly Finding[]> {
  const { models, providers } = store.catalogue.current()
  const cards = [...models.values()]
  const at = clock.now()
  if (cards.length === 0)
    return [warning('prices', 'there is no model', 'gatewayctl models add PROVIDER/MODEL')]
  const unpriced = cards.filter((card) => priceAt(card, at) === null)
  const [first] = unpriced
  const since = later(at, -PRICE_GOOD_MS)
  const confirmed = await confirmedSince(store, since)
  const old = cards.filter((card) => {
    const price = priceAt(card, at)
    const isVendors = providers.get(card.provider)?.type !== 'demo'
    return isVendors && price && price.effectiveFrom < since && !confirmed.has(card.id)
  })
  return [
    first === undefined
      ? ok('prices', `${cards.length} models, all priced`)
      : warning(
          'prices',
          `${unpriced.length} of ${cards.length} models have no price, so requests to them are refused: ${named(unpriced)}`,
          `gatewayctl models price ${first.id} --in-usd X --out-usd Y`,
        ),
    ...(old.length === 0
      ? []
      : [
          warning(
            'old_prices',
            `${old.length} of ${cards.length} models have a price older than a year: ${named(old)}`,
            `gatewayctl models refresh${SHIPPED_PRICES_AT < since ? ' --from FILE' : ''} --dry-run`,
          ),
        ]),
  ]
}

const PRICE_GOOD_MS = 365 * DAY_MS
const MOST_NAMED = 10
const MOST_REFRESHES = 1_000

const named = (cards: readonly ModelCard[]): string => {
  const names = cards.slice(0, MOST_NAMED).map(({ id }) => id)
  const more = cards.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Models of which a refresh has found the same price again, by a list that is no older. */
async function confirmedSince(
  { acts }: OperatorDeps['store'],
  since: Instant,
): Promise<ReadonlySet<unknown>> {
  const refreshes = await acts.list({ since, verb: 'models.refresh', limit: MOST_REFRESHES })
  const counted = refreshes.filter(
    ({ changed }) => changed['source'] !== 'shipped' || SHIPPED_PRICES_AT >= since,
  )
  return new Set(counted.flatMap(({ changed }) => changed['confirmed'] ?? []))
}

/** Warns of models whose every hop is resting after failures. */
export async function checkRoutes({ store, live }: OperatorDeps): Promise<readonly Finding[]> {
  const cards = [...store.catalogue.current().models.values()]
  const resting = (live?.hops() ?? []).filter(({ restsUntil }) => restsUntil !== null)
  const rests = ({ provider, upstreamName }: RouteHop): boolean =>
    resting.some((hop) => hop.provider === provider && hop.upstreamName === upstreamName)
  const lost = cards.filter((card) => routeOf(card).every(rests))
  const [first] = lost
  return [
    first === undefined
      ? ok(
          'routes',
          `models with a route of their own: ${cards.filter(({ route }) => route.length > 0).length}`,
        )
      : warning(
          'routes',
          `${lost.length} of ${cards.length} models have only resting providers: ${first.id}`,
          `gatewayctl models route ${first.id}`,
        ),
  ]
}

/** Warns of credentials that rest or were refused, where their provider has others: requests go on, so that nobody would notice. */
export async function checkCredentials({ store, live }: OperatorDeps): Promise<readonly Finding[]> {
  const several = [...store.catalogue.current().providers.values()].filter(
    ({ credentials }) => credentials.length > 1,
  )
  if (live === null || several.length === 0) return []
  const found = several.flatMap((provider) =>
    credentialTroubles(live, provider).map((trouble) =>
      warning(
        'credentials',
        describeTrouble(provider.name, trouble),
        remedyOf(provider.name, trouble),
      ),
    ),
  )
  const of = several.map(({ name }) => name).join(', ')
  return found.length > 0 ? found : [ok('credentials', `each of several serves: ${of}`)]
}

/** A mask that matches no model is probably a typing error. */
export async function checkMasks(deps: OperatorDeps): Promise<readonly Finding[]> {
  const models = [...deps.store.catalogue.current().models.keys()]
  const idle = (await listAllKeys(deps, false)).flatMap((key) =>
    idleMasks(key.limits.allowedModels, models).map((mask) => ({ key, mask })),
  )
  if (idle.length === 0) return [ok('masks', 'every mask matches a model')]
  return idle.map(({ key, mask }) =>
    warning(
      'masks',
      `key ${key.name} allows "${mask}", which matches no model`,
      `gatewayctl limits set ${shellWord(key.name)} --allow MASK`,
    ),
  )
}
