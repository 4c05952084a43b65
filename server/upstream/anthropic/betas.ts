/** What Claude is asked for beside its API on a cloud: betas, of which each takes some and refuses a request for any other. */
import type { AskedHeaders } from './server.ts'

export const BETA_HEADER = 'anthropic-beta'

/** A beta that is asked for, by the name that it has there. */
export type KnownBetas = Readonly<Record<string, string>>

const named = (...names: readonly string[]): KnownBetas =>
  Object.fromEntries(names.map((name) => [name, name]))

/** Both clouds have them. Tool search alone has another name than at Anthropic's. */
const ON_CLOUDS: KnownBetas = {
  ...named(
    'compact-2026-01-12',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dangerous-tool-use-2026-09-03',
    'interleaved-thinking-2025-05-14',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19',
  ),
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
}

export const BEDROCK_BETAS: KnownBetas = {
  ...ON_CLOUDS,
  ...named(
    'effort-2025-11-24',
    'fine-grained-tool-streaming-2025-05-14',
    'mid-conversation-output-config-2026-07-01',
    'mid-conversation-tool-changes-2026-07-01',
  ),
}

export const VERTEX_BETAS: KnownBetas = {
  ...ON_CLOUDS,
  ...named('compact-2026-09-04', 'per-turn-control-2026-07-01', 'web-search-2025-03-05'),
}

/** Those of a request that a cloud takes, each once. */
export function knownBetas(asked: AskedHeaders | undefined, known: KnownBetas): readonly string[] {
  const betas = asked?.[BETA_HEADER]?.split(',') ?? []
  return [...new Set(betas.flatMap((beta) => known[beta.trim()] ?? []))]
}
