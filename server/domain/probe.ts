/** Probe: checks a provider outside any client's request: whether it answers, accepts the credential, and lists a model. */
import type { ModelCard } from './model-card.ts'
import type { Provider } from './provider.ts'

export interface ProbeAnswer {
  readonly ok: boolean
  /** The provider's own; null where no answer came. */
  readonly status: number | null
  readonly ms: number
  /** By the provider's own names; null where it does not list them. */
  readonly models: readonly string[] | null
  /** What was wrong, or worth knowing, cleared of credentials. */
  readonly message: string | null
  /** The provider's clock less ours, by its Date header; null where it has none. */
  readonly skewMs: number | null
  /** What an answer of one token cost in tokens; null where none was asked for. */
  readonly tokens: { readonly input: number; readonly output: number } | null
}

export interface Probe {
  /** Asks for the list of models, which costs nothing, for at most `withinMs`. Never throws. */
  listModels(provider: Provider, credential: string | null, withinMs?: number): Promise<ProbeAnswer>
  /** Asks a model for the shortest answer there is, at the operator's expense. Never throws. */
  askModel(provider: Provider, credential: string | null, card: ModelCard): Promise<ProbeAnswer>
  /** Of the last probed provider whose answer had a Date header; null where there was none. */
  lastSkew(): { readonly provider: string; readonly skewMs: number } | null
}
