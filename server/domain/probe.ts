/** A probe checks a provider independently of requests: whether it answers, accepts the credential, and lists a model. */
import type { ModelCard } from './model-card.ts'
import type { Provider } from './provider.ts'

export interface ProbeAnswer {
  readonly ok: boolean
  /** The provider's own; null where no answer came. */
  readonly status: number | null
  readonly ms: number
  /** In the provider's naming; null if it does not list them. */
  readonly models: readonly string[] | null
  /** An error or a remark, with credentials removed. */
  readonly message: string | null
  /** The provider's clock minus ours, by its Date header; null if it has none. */
  readonly skewMs: number | null
  /** The token usage of the test answer; null if none was requested. */
  readonly tokens: { readonly input: number; readonly output: number } | null
}

export interface Probe {
  /** Requests the list of models, which is free. Takes at most `withinMs`; never throws. */
  listModels(provider: Provider, credential: string | null, withinMs?: number): Promise<ProbeAnswer>
  /** Requests an answer of one token, at the operator's expense. Never throws. */
  askModel(provider: Provider, credential: string | null, card: ModelCard): Promise<ProbeAnswer>
  /** The clock skew by the latest answer with a Date header; null if there was none. */
  lastSkew(): { readonly provider: string; readonly skewMs: number } | null
}
