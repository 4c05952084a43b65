/** The URLs and credential header of a Gemini provider, from the operator's settings and the model card alone. */
import type { Provider } from '#domain/provider.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { readBaseAddress } from '../base-address.ts'

export type Method = 'generateContent' | 'streamGenerateContent' | 'batchEmbedContents'

export interface Endpoint {
  readonly host: string
  /** A header, never `?key=`, because URLs end up in logs. */
  readonly auth: Readonly<Record<string, string>>
  /** The URL of a method of a model; `model` is the card's `upstreamName`. @throws UpstreamFailure `failed` */
  address(model: string, method: Method): string
}

/** @throws UpstreamFailure `failed` when the base URL is no http address */
export function toEndpoint(provider: Provider, credential: string | null): Endpoint {
  const base = readBaseAddress(provider)
  return {
    host: base.host,
    auth: credential === null ? {} : { 'x-goog-api-key': credential },
    address(model, method) {
      const url = new URL(base)
      const collection = provider.type === 'vertex' ? 'publishers/google/models' : 'models'
      url.pathname = `${base.pathname.replace(/\/$/, '')}/${toResource(model, collection)}:${method}`
      if (method === 'streamGenerateContent') url.searchParams.set('alt', 'sse')
      return url.href
    },
  }
}

/**
 * `gemini-2.5-flash` → `models/gemini-2.5-flash`; a full resource name (`tunedModels/…`) is unchanged.
 * @throws UpstreamFailure `failed`
 */
export function toResource(model: string, collection = 'models'): string {
  const full = /^(?:models|tunedModels|publishers|endpoints)\//.test(model)
    ? model
    : `${collection}/${model}`
  const steps = full.split('/')
  // A segment of dots would leave the operator's base path.
  if (steps.some((step) => /^\.*$/.test(step))) {
    throw new UpstreamFailure('failed', 'the name of its model is no path')
  }
  return steps.map(encodeURIComponent).join('/')
}
