/** The demo provider's models, with prices, so that charging can be tried without a vendor. */
import type { Instant } from '#domain/clock.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { type Modality, type ModelCard, type Prices, UNROUTED } from '#domain/model-card.ts'
import type { UsdAttos } from '#domain/money.ts'
import type { NewProvider } from '#domain/provider.ts'

const NOTHING = 0n as UsdAttos
const DOLLAR_PER_MILLION = 1_000_000_000_000n as UsdAttos
const TWO_DOLLARS_PER_MILLION = 2_000_000_000_000n as UsdAttos
const CENT = 10_000_000_000_000_000n as UsdAttos

const PER_WORD: Prices = {
  prompt: DOLLAR_PER_MILLION,
  completion: TWO_DOLLARS_PER_MILLION,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  request: NOTHING,
  searchUnit: NOTHING,
  inputImage: NOTHING,
  imageInputToken: null,
  imageOutputToken: null,
  imagePrices: [],
  tiers: [],
  serverTools: [],
  modifiers: [],
}

const PER_IMAGE: Prices = {
  ...PER_WORD,
  prompt: NOTHING,
  completion: NOTHING,
  imagePrices: [{ resolution: '*', quality: '*', usd: CENT }],
}

/** The provider named `demo`. */
export const demoProvider = (at: Instant): NewProvider => ({
  name: 'demo',
  type: 'demo',
  baseUrl: 'demo:',
  outputBound: null,
  learnedBound: null,
  createdAt: at,
})

/** Text at $1 (prompt) and $2 (completion) per million words, images at one cent each. */
export const demoCards = (at: Instant): readonly ModelCard[] => [
  toCard(at, 'echo', 'Demo Echo', 'Says your last message back, word by word.'),
  toCard(at, 'lorem', 'Demo Lorem', 'Speaks max_tokens words, at the pace you ask for.'),
  toCard(at, 'flaky', 'Demo Flaky', 'Echoes, and breaks in the way that "user" asks for.'),
  {
    ...toCard(at, 'image', 'Demo Image', 'Draws a small landscape out of your prompt.', PER_IMAGE),
    inputModalities: ['text', 'image'],
    outputModalities: ['image'],
    maxCompletionTokens: null,
    supportedParameters: ['modalities', 'image_config', 'n', 'user'],
  },
]

const TEXT: readonly Modality[] = ['text']

const toCard = (
  at: Instant,
  upstreamName: string,
  name: string,
  description: string,
  prices: Prices = PER_WORD,
): ModelCard => ({
  id: `demo/${upstreamName}`,
  kind: 'generate',
  embeddingSpace: null,
  provider: 'demo',
  upstreamName,
  ...UNROUTED,
  name,
  description,
  createdAt: at,
  contextLength: 128_000,
  maxCompletionTokens: 100_000,
  isCatalogued: true,
  imagesPerAnswer: 1,
  wires: null,
  inputModalities: TEXT,
  outputModalities: TEXT,
  supportedParameters: ['max_tokens', 'max_completion_tokens', 'n', 'stream', 'user'],
  prices: [{ id: newPriceVersionId(at), effectiveFrom: at, prices }],
})
