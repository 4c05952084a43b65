/** A provider: an operator's account with an upstream, its address and its protocol. */
import { parseAbsoluteUrl } from './absolute-url.ts'
import type { Instant } from './clock.ts'
import { MODEL_KINDS, type ModelKind } from './model-kind.ts'
import { regionOf } from './region.ts'

/** The wire format of a provider. */
export type Family = 'openai' | 'anthropic' | 'gemini' | 'cohere' | 'voyage' | 'demo'

/** The names of OpenAI's API for the most tokens of an answer. */
export const BOUND_WORDS = ['max_tokens', 'max_completion_tokens'] as const

export type BoundWord = (typeof BOUND_WORDS)[number]

/** How an answer's bound is spelled; `none`: the provider takes none. */
export const OUTPUT_BOUNDS = [...BOUND_WORDS, 'both', 'none'] as const

export type OutputBound = (typeof OUTPUT_BOUNDS)[number]

/** The wires of OpenAI's API for conversations: chat completions, and the Responses API. */
export const OPENAI_WIRES = ['chat', 'responses'] as const

export type OpenAiWire = (typeof OPENAI_WIRES)[number]

export interface ProviderPreset {
  readonly family: Family
  /** What its models may do here. */
  readonly kinds: readonly ModelKind[]
  /** Null where the operator must state it. */
  readonly baseUrl: string | null
  /** How the credential is sent. */
  readonly auth: 'bearer' | 'api-key' | 'x-api-key' | 'x-goog-api-key'
  /** Whether usage in a stream must be requested; if false, it is always sent and requesting it is an error. */
  readonly asksForUsage: boolean
  /** Null: the family's own name. */
  readonly outputBound: OutputBound | null
  /** In which wires its models answer, where their cards say nothing else; empty in other families. */
  readonly wires: readonly OpenAiWire[]
  /** Whether it predates the role `developer`, and rejects or ignores it. */
  readonly isOldDialect?: true
  /** A cloud: it serves Claude too, in Anthropic's wire, and its requests are signed or need a token. */
  readonly cloud?: 'aws' | 'google'
}

const openAiShaped = (
  baseUrl: string | null,
  outputBound: OutputBound = 'max_completion_tokens',
): ProviderPreset => ({
  family: 'openai',
  kinds: ['generate'],
  baseUrl,
  auth: 'bearer',
  asksForUsage: true,
  outputBound,
  wires: ['chat'],
})

/** A vendor that serves the Responses API too. */
const withResponses = (preset: ProviderPreset): ProviderPreset => ({
  ...preset,
  wires: OPENAI_WIRES,
})

const openAiShapedOfOld = (baseUrl: string): ProviderPreset => ({
  ...openAiShaped(baseUrl, 'max_tokens'),
  isOldDialect: true,
})

const withKinds = (preset: ProviderPreset, ...kinds: readonly ModelKind[]): ProviderPreset => ({
  ...preset,
  kinds,
})

/** A vendor of embeddings and rerank alone. */
const ofResults = (family: 'cohere' | 'voyage', baseUrl: string): ProviderPreset => ({
  family,
  kinds: ['embed', 'rerank'],
  baseUrl,
  auth: 'bearer',
  asksForUsage: false,
  outputBound: null,
  wires: [],
})

const presets = {
  openai: withKinds(withResponses(openAiShaped('https://api.openai.com/v1')), 'generate', 'embed'),
  anthropic: {
    family: 'anthropic',
    kinds: ['generate'],
    baseUrl: 'https://api.anthropic.com/v1',
    auth: 'x-api-key',
    asksForUsage: false,
    outputBound: null,
    wires: [],
  },
  openrouter: withKinds(
    withResponses(openAiShaped('https://openrouter.ai/api/v1')),
    ...MODEL_KINDS,
  ),
  groq: openAiShaped('https://api.groq.com/openai/v1'),
  mistral: {
    ...openAiShapedOfOld('https://api.mistral.ai/v1'),
    kinds: ['generate', 'embed'],
    asksForUsage: false,
  },
  deepseek: withResponses(openAiShapedOfOld('https://api.deepseek.com/v1')),
  xai: withResponses(openAiShaped('https://api.x.ai/v1')),
  together: withKinds(openAiShapedOfOld('https://api.together.xyz/v1'), ...MODEL_KINDS),
  fireworks: withKinds(openAiShapedOfOld('https://api.fireworks.ai/inference/v1'), ...MODEL_KINDS),
  google: {
    family: 'gemini',
    kinds: ['generate', 'embed'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    auth: 'x-goog-api-key',
    asksForUsage: false,
    outputBound: null,
    wires: [],
  },
  azure: { ...withResponses(openAiShaped(null)), kinds: ['generate', 'embed'], auth: 'api-key' },
  bedrock: {
    ...openAiShaped('https://bedrock-runtime.us-east-1.amazonaws.com'),
    cloud: 'aws',
  },
  vertex: {
    family: 'gemini',
    kinds: ['generate'],
    baseUrl: 'https://aiplatform.googleapis.com/v1',
    auth: 'bearer',
    asksForUsage: false,
    outputBound: null,
    wires: [],
    cloud: 'google',
  },
  cohere: ofResults('cohere', 'https://api.cohere.com/v2'),
  voyage: ofResults('voyage', 'https://api.voyageai.com/v1'),
  // Some servers know one word and ignore the other.
  'openai-compatible': withKinds(openAiShaped(null, 'both'), ...MODEL_KINDS),
  demo: {
    family: 'demo',
    kinds: ['generate'],
    baseUrl: 'demo:',
    auth: 'bearer',
    asksForUsage: false,
    outputBound: null,
    wires: [],
  },
} satisfies Record<string, ProviderPreset>

/** The values of `--type`: a family with one vendor's address and conventions. */
export type ProviderType = keyof typeof presets

export const PROVIDER_PRESETS: Readonly<Record<ProviderType, ProviderPreset>> = presets

export const isProviderType = (text: string): text is ProviderType =>
  Object.hasOwn(PROVIDER_PRESETS, text)

/** What a model is called by its provider, and here. */
interface Named {
  readonly id: string
  readonly upstreamName: string
}

/** In whose wire a model is asked at a provider of this type: Claude in Anthropic's, on a cloud too. */
export function familyOf(type: ProviderType, model: Named): Family {
  const { family, cloud } = PROVIDER_PRESETS[type]
  return cloud !== undefined && CLAUDE.test(vendorName(model)) ? 'anthropic' : family
}

/** The name that says which model it is. An operator's own profile of AWS has none but the id that the operator gave it. */
export const vendorName = ({ id, upstreamName }: Named): string =>
  upstreamName.startsWith('arn:') && !CLAUDE.test(upstreamName) ? id : upstreamName

const CLAUDE = /claude/i

export const isProviderName = (text: string): boolean => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(text)

/** One of the keys, or documents, that an operator has with a provider. Its secret is read by `server/upstream` alone. */
export interface Credential {
  /** Unique at its provider. */
  readonly name: string
  /** Its share of the requests; at least 1. */
  readonly weight: number
}

/** The name of a credential that was given with its provider. */
export const DEFAULT_CREDENTIAL = 'default'

export interface Provider {
  /** The first half of its models' ids; unique. */
  readonly name: string
  readonly type: ProviderType
  /** Set by the operator; no request can change it. */
  readonly baseUrl: string
  /** Those that requests share, by weight, in the order of names; empty for one that needs none. */
  readonly credentials: readonly Credential[]
  /** Stated by the operator, as `none` always is; null: as it was learnt, else by type and address. */
  readonly outputBound: OutputBound | null
  /** The word that it took after it had refused another; forgotten when its type or address changes. */
  readonly learnedBound: BoundWord | null
  readonly createdAt: Instant
  /** The catalogue's version that last changed anything of it, the credential included; no other provider ever had it. */
  readonly revision: number
}

/** A provider that is to be added. */
export type NewProvider = Omit<Provider, 'credentials' | 'revision'>

/** How the bound of an answer is sent to a provider; null: in the one way of its family. */
export const outputBoundOf = (provider: Provider): OutputBound | null =>
  provider.outputBound ?? provider.learnedBound ?? usualBound(provider)

/** A vendor's word is known to be obeyed only at the vendor's own address; another server may ignore it. */
function usualBound({ type, baseUrl }: Provider): OutputBound | null {
  const { outputBound, baseUrl: ofVendor } = PROVIDER_PRESETS[type]
  if (outputBound === null || ofVendor === null || isAt(ofVendor, baseUrl, type)) return outputBound
  return 'both'
}

/** Also at a regional host of the vendor, such as eu.api.openai.com. */
function isAt(ofVendor: string, baseUrl: string, type: ProviderType): boolean {
  const host = parseAbsoluteUrl(ofVendor)?.host
  const stated = parseAbsoluteUrl(baseUrl)?.host ?? ''
  return host === stated || stated.endsWith(`.${host}`) || regionOf(type, stated) !== null
}

/** A credential that a provider is to have; without a secret it is there already, and keeps its own. */
export interface StatedCredential extends Credential {
  readonly secret?: string
}

/** What a provider has that was given one secret, or none. */
export const onlyCredential = (secret: string | null): readonly StatedCredential[] =>
  secret === null ? [] : [{ name: DEFAULT_CREDENTIAL, weight: 1, secret }]

/** Changes to a provider; an absent field stays as it is. `credentials` are all that it has after that. */
export type ProviderAmendment = Partial<Pick<Provider, 'type' | 'baseUrl' | 'outputBound'>> & {
  readonly credentials?: readonly StatedCredential[]
}
