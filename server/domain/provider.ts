/** A provider: an operator's account with an upstream, its address and how it is spoken to. */
import type { Instant } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'

/** The wire a provider speaks. */
export type Family = 'openai' | 'anthropic' | 'gemini' | 'demo'

export interface ProviderPreset {
  readonly family: Family
  /** Null where the operator must name it. */
  readonly baseUrl: string | null
  /** How the credential travels. */
  readonly auth: 'bearer' | 'api-key' | 'x-api-key' | 'x-goog-api-key'
  /** Whether a stream must be asked for its usage; where false it is sent unasked and asking is an error. */
  readonly asksForUsage: boolean
  /** Whether it speaks the wire as it was before `max_completion_tokens` and the role `developer`, and refuses or ignores both. */
  readonly isOldDialect?: true
}

const openAiShaped = (baseUrl: string | null): ProviderPreset => ({
  family: 'openai',
  baseUrl,
  auth: 'bearer',
  asksForUsage: true,
})

const openAiShapedOfOld = (baseUrl: string): ProviderPreset => ({
  ...openAiShaped(baseUrl),
  isOldDialect: true,
})

const presets = {
  openai: openAiShaped('https://api.openai.com/v1'),
  anthropic: {
    family: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    auth: 'x-api-key',
    asksForUsage: false,
  },
  openrouter: openAiShaped('https://openrouter.ai/api/v1'),
  groq: openAiShaped('https://api.groq.com/openai/v1'),
  mistral: { ...openAiShapedOfOld('https://api.mistral.ai/v1'), asksForUsage: false },
  deepseek: openAiShapedOfOld('https://api.deepseek.com/v1'),
  xai: openAiShaped('https://api.x.ai/v1'),
  together: openAiShapedOfOld('https://api.together.xyz/v1'),
  fireworks: openAiShapedOfOld('https://api.fireworks.ai/inference/v1'),
  google: {
    family: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    auth: 'x-goog-api-key',
    asksForUsage: false,
  },
  azure: { ...openAiShaped(null), auth: 'api-key' },
  'openai-compatible': openAiShaped(null),
  demo: { family: 'demo', baseUrl: 'demo:', auth: 'bearer', asksForUsage: false },
} satisfies Record<string, ProviderPreset>

/** What `--type` accepts: a family with the address and habits of one vendor. */
export type ProviderType = keyof typeof presets

export const PROVIDER_PRESETS: Readonly<Record<ProviderType, ProviderPreset>> = presets

export const isProviderType = (text: string): text is ProviderType =>
  Object.hasOwn(PROVIDER_PRESETS, text)

export const isProviderName = (text: string): boolean => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(text)

export interface Provider {
  /** The first half of its models' ids; unique. */
  readonly name: string
  readonly type: ProviderType
  /** The operator's own word; nothing in a request can change it. */
  readonly baseUrl: string
  readonly hasCredential: boolean
  readonly createdAt: Instant
}

/** `keep` leaves it as it is; null takes it away. */
export type CredentialChange = 'keep' | { readonly credential: string | null }

/** Port: providers and their credentials, which are encrypted at rest and read by `server/upstream` alone. */
export interface Providers {
  /** @throws already_exists */
  add(provider: Provider, credential: string | null): Promise<void>
  /** The same object as before, until anything of it is changed, its credential too: what was made of one may be kept. */
  find(name: string): MaybePromise<Provider | undefined>
  /** By name. */
  list(): Promise<readonly Provider[]>
  /** Puts in the place of the one of this name; holds from the next request. @throws provider_not_found */
  edit(provider: Provider, change: CredentialChange): Promise<void>
  /** Its models go with it; past charges stay. @throws provider_not_found */
  remove(name: string): Promise<void>
  /** Null when it needs none. @throws internal_error when it cannot be decrypted with this master key */
  credential(name: string): Promise<string | null>
}
