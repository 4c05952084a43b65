/** Caches one open upstream per provider, and reopens it when the provider changes. */
import type { Providers } from '#domain/catalogue.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { openUpstream } from '#upstream/registry.ts'

/** Credentials are decrypted once per revision of a provider, not once per request. */
export function createUpstreamCache(
  providers: Providers,
): (provider: Provider) => Promise<Upstream> {
  const opened = new Map<string, { revision: number; upstream: Promise<Upstream> }>()

  return (provider) => {
    const { name, revision } = provider
    const known = opened.get(name)
    if (known?.revision === revision) return known.upstream
    const upstream = providers.credential(name).then((credential) =>
      openUpstream(provider, credential, (word) => {
        // Where it cannot be stored now, it is learnt again after a restart.
        providers.learnBound(provider, word).catch(() => undefined)
      }),
    )
    opened.set(name, { revision, upstream })
    // A failure is not cached: the operator may fix an unreadable credential.
    upstream.catch(() => opened.delete(name))
    return upstream
  }
}
