/** Checks what Claude Code depends on: the names that it asks for, and ceilings under which several of its requests fit. */
import type { Catalogue } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type ApiKey, type Bounds, keyStatus, outputBoundOf } from '#domain/key.ts'
import { limitNamed, NO_LIMITS } from '#domain/limits.ts'
import { ANY_IMAGE, type ModelCard } from '#domain/model-card.ts'
import { NO_MONEY, renderUsd, type UsdNanos } from '#domain/money.ts'
import { namedModel } from '#domain/named-model.ts'
import { holdFor, offerCost } from '#domain/offer-cost.ts'
import { familyOf } from '#domain/provider.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { offersOf } from '#domain/walk/offer.ts'
import type { Generate } from '#domain/work.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from '../deps.ts'
import { listAllKeys } from '../list-keys.ts'
import { type Finding, ok, warning } from './finding.ts'

/** What it asks for unless it is told otherwise: its main model, and those of its other tiers. */
const MODELS = ['claude-opus-4-8', 'claude-sonnet-4-5', 'claude-haiku-4-5-20251001']

/** It asks for its tiers by bare names; one that names no model fails in the middle of its work. */
export async function checkClaudeCode({ store }: OperatorDeps): Promise<readonly Finding[]> {
  const catalogue = store.catalogue.current()
  const isServed = [...catalogue.providers.values()].some(({ type }) => type === 'anthropic')
  const claudes = [...catalogue.models.values()].filter((card) => isClaude(catalogue, card))
  if (!isServed && claudes.length === 0) return []
  const unknown = MODELS.filter((name) => findNamed(catalogue, UNBOUNDED, name) === undefined)
  return unknown.length === 0
    ? [ok('aliases', `Claude Code's models are known: ${MODELS.join(', ')}`)]
    : unknown.map((name) =>
        warning(
          'aliases',
          `Claude Code asks for ${name}, which names no model`,
          `gatewayctl models alias ${name} ${likely(claudes, name)?.id ?? 'MODEL'}`,
        ),
      )
}

function isClaude({ providers }: Catalogue, card: ModelCard): boolean {
  const provider = providers.get(card.provider)
  return provider !== undefined && familyOf(provider.type, card) === 'anthropic'
}

/** The one that a cloud has by a longer name: `global.anthropic.claude-opus-4-8`, `claude-haiku-4-5@20251001`. */
function likely(claudes: readonly ModelCard[], name: string): ModelCard | undefined {
  const [undated = name] = name.split(/-20\d{6}$/)
  return claudes.find(({ upstreamName }) => upstreamName.split(/[.@]|-20\d{6}/).includes(undated))
}

const UNBOUNDED: Bounds = { limits: NO_LIMITS, accountLimits: NO_LIMITS }

/** What the key is served by this name. */
function findNamed(catalogue: Catalogue, key: Bounds, name: string): ModelCard | undefined {
  try {
    return namedModel({ catalogue, key, dialect: 'messages' }, name)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return undefined
    throw thrown
  }
}

/** How many of its requests run at once: it works with sub-agents. */
const AT_ONCE = 4n

/** As its first request is: the tokens that it states, and the size of its body. It grows to several megabytes. */
const FIRST_REQUEST: Generate = {
  kind: 'generate',
  dialect: 'messages',
  model: '',
  body: {},
  reasoning: null,
  conversation() {
    throw new Error('it is only measured')
  },
  stream: true,
  includeUsage: false,
  wantsImages: false,
  image: ANY_IMAGE,
  endUser: null,
  choices: 1,
  maxOutputTokens: 64_000,
  textBytes: 85_000,
  inputImages: 0,
  allowFallbacks: true,
}

/** A stated bound is held as stated, so that under a low ceiling its requests wait for one another, and then fail. */
export async function checkCeilings(deps: OperatorDeps): Promise<readonly Finding[]> {
  const at = deps.clock.now()
  const catalogue = deps.store.catalogue.current()
  const tight = (await listAllKeys(deps, false)).flatMap((key) => findTight(catalogue, key, at))
  const [first] = tight
  if (first === undefined) return []
  const { key, limit, ceiling, hold, model } = first
  const others = tight.length > 1 ? `, and ${tight.length - 1} other keys are as tight` : ''
  return [
    warning(
      'ceilings',
      `key ${key.name}: ${limit} of $${renderUsd(ceiling)} is less than ${AT_ONCE} requests of Claude Code hold at once, $${renderUsd(hold)} each with ${model}: they wait for one another, and are then refused${others}`,
      `gatewayctl limits set ${shellWord(key.name)} --${limitNamed(limit)?.flag} ${wholeDollars(AT_ONCE * hold)}`,
    ),
  ]
}

interface Tight {
  readonly key: ApiKey
  readonly limit: 'daily_spend_limit_usd' | 'monthly_spend_limit_usd' | 'end_user_daily_usd'
  readonly ceiling: UsdNanos
  readonly hold: UsdNanos
  readonly model: string
}

/** The first ceiling of a key that is too low for its dearest model of that name; none for a key that calls none of them. */
function findTight(catalogue: Catalogue, key: ApiKey, at: Instant): readonly Tight[] {
  const { dailySpend, monthlySpend, endUserDailySpend } = key.limits
  if (key.kind !== 'ordinary' || keyStatus(key, at) !== 'active') return []
  const ceilings = [
    ['daily_spend_limit_usd', dailySpend],
    ['monthly_spend_limit_usd', monthlySpend],
    ['end_user_daily_usd', endUserDailySpend],
  ] as const
  if (ceilings.every(([, ceiling]) => ceiling === null)) return []
  let hold = NO_MONEY
  let model = ''
  for (const name of MODELS) {
    const card = findNamed(catalogue, key, name)
    const most = card === undefined ? NO_MONEY : holdAt(catalogue, card, key, at)
    if (card === undefined || most <= hold) continue
    hold = most
    model = card.id
  }
  const low = ceilings.find(([, ceiling]) => ceiling !== null && ceiling < AT_ONCE * hold)
  return low === undefined ? [] : [{ key, limit: low[0], ceiling: low[1] as UsdNanos, hold, model }]
}

/** Nothing for a model that cannot be asked now. */
function holdAt(catalogue: Catalogue, card: ModelCard, key: ApiKey, at: Instant): UsdNanos {
  try {
    const maxOutputTokens = outputBoundOf(key)
    const costs = offersOf({ catalogue, at }, card).map(({ hop, version }) =>
      offerCost(FIRST_REQUEST, hop, version.prices, maxOutputTokens, DEFAULT_SETTINGS),
    )
    return holdFor(costs, null)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return NO_MONEY
    throw thrown
  }
}

const DOLLAR = 1_000_000_000n
const wholeDollars = (amount: bigint): bigint => (amount + DOLLAR - 1n) / DOLLAR
