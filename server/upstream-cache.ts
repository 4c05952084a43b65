/** Caches one open upstream per provider, and reopens it when the provider changes. */

import type { Providers } from '#domain/catalogue.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { openUpstream } from '#upstream/registry.ts'

interface Opened {
  readonly revision: number
  /** A promise only while its credential is being read. */
  upstream: MaybePromise<Upstream>
}

/** Credentials are decrypted once per revision of a provider, not once per request. */
export function createUpstreamCache(
  providers: Providers,
): (provider: Provider) => MaybePromise<Upstream> {
  const opened = new Map<string, Opened>()

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
    const entry: Opened = { revision, upstream }
    opened.set(name, entry)
    upstream.then(
      (ready) => {
        entry.upstream = ready
      },
      // A failure is not cached: the operator may fix an unreadable credential.
      () => opened.delete(name),
    )
    return upstream
  }
}
