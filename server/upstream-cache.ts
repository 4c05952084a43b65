/** Keeps one open upstream per provider, and opens it anew when the operator has changed what it stands on. */
import type { Provider, Providers } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { openUpstream } from '#upstream/registry.ts'

interface Opened {
  readonly provider: Provider
  readonly upstream: Promise<Upstream>
}

/** Credentials are decrypted once per provider, not once per request. */
export function createUpstreamCache(
  providers: Providers,
): (provider: Provider) => Promise<Upstream> {
  const opened = new Map<string, Opened>()

  return (provider) => {
    const known = opened.get(provider.name)
    // The store answers another object once anything of it has changed, its credential too.
    if (known?.provider === provider) return known.upstream
    const upstream = providers
      .credential(provider.name)
      .then((credential) => openUpstream(provider, credential))
    opened.set(provider.name, { provider, upstream })
    // A credential that cannot be read today may be readable after the operator's next act.
    upstream.catch(() => opened.delete(provider.name))
    return upstream
  }
}
