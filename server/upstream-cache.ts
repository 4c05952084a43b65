/** Caches one open upstream for each credential of a provider, and reopens it when the provider changes. */
import type { Providers } from '#domain/catalogue.ts'
import type { Clock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Provider } from '#domain/provider.ts'
import { type Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { openUpstream } from '#upstream/registry.ts'

/** Credentials are decrypted once per revision of a provider, not once per request. */
export function createUpstreamCache(
  providers: Providers,
  clock: Clock,
): (provider: Provider, credential: string | null) => Upstream {
  const opened = new Map<string, { revision: number; upstream: Upstream }>()

  return (provider, credentialName) => {
    const { revision } = provider
    // No provider's name has a space.
    const name = credentialName === null ? provider.name : `${provider.name} ${credentialName}`
    const known = opened.get(name)
    if (known?.revision === revision) return known.upstream
    const opening = providers.credential(provider.name, credentialName).then((credential) =>
      openUpstream(provider, credential, clock, (word) => {
        // Where it cannot be stored now, it is learnt again after a restart.
        providers.learnBound(provider, word).catch(() => undefined)
      }),
    )
    const upstream = startUpstream(opening)
    opened.set(name, { revision, upstream })
    // A failure is not cached: the operator may fix an unreadable credential.
    opening.catch(() => {
      if (opened.get(name)?.upstream === upstream) opened.delete(name)
    })
    return upstream
  }
}

/** One that is being opened: who asks it meanwhile waits, and fails if its credential cannot be read. */
export function startUpstream(opening: Promise<Upstream>): Upstream {
  let open: Upstream | null = null
  opening.then(
    (upstream) => {
      open = upstream
    },
    () => undefined,
  )
  return {
    ask: (call) =>
      open === null
        ? opening.catch(toCredentialFailure).then((upstream) => upstream.ask(call))
        : open.ask(call),
    count: async (call) =>
      (await (open ?? opening.catch(toCredentialFailure))).count?.(call) ?? null,
  }
}

/** An unreadable credential fails only this provider; another may still answer. A store that cannot be read fails the request. */
function toCredentialFailure(cause: unknown): never {
  if (!(cause instanceof GatewayError) || cause.code === 'store_unavailable') throw cause
  throw new UpstreamFailure('unauthorized', 'its credential cannot be read', { cause })
}
