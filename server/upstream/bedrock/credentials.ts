/** The access key that requests to AWS are signed with: the operator's own, or that of a role, which is taken on for an hour. */

import type { Clock } from '#domain/clock.ts'
import type { AwsCredential, AwsKey } from '#domain/cloud-credential.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { keepLease, type Lease, type LeaseKeeper } from '../lease.ts'

const FETCH_TIMEOUT_MS = 20_000

/** What the request log of AWS shows of a role that the gateway has taken on. */
const SESSION_NAME = 'gatewayctl'

type SignedBy = Exclude<AwsCredential, { readonly kind: 'api-key' }>

export const keepKey = (credential: SignedBy, region: string, clock: Clock): LeaseKeeper<AwsKey> =>
  keepLease(
    credential.kind === 'access-key'
      ? async () => ({ value: credential.key, lifetimeMs: null })
      : () => takeRole(credential, region, clock),
    () => clock.monotonicMs(),
  )

/** By AWS's own library, which is loaded for this alone. @throws UpstreamFailure */
async function takeRole(
  { role, key }: Extract<AwsCredential, { readonly kind: 'role' }>,
  region: string,
  clock: Clock,
): Promise<Lease<AwsKey>> {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import(
    '@aws-sdk/credential-providers'
  )
  const clientConfig = { region }
  const provide =
    role === null
      ? fromNodeProviderChain({ clientConfig })
      : fromTemporaryCredentials({
          clientConfig,
          ...(key !== null && { masterCredentials: key }),
          params: {
            RoleArn: role.arn,
            RoleSessionName: SESSION_NAME,
            ...(role.externalId !== null && { ExternalId: role.externalId }),
          },
        })
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await within(provide())
  return {
    value: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    lifetimeMs: expiration === undefined ? null : expiration.getTime() - clock.now(),
  }
}

/** The library's words name roles and accounts, so none of them is passed on. */
async function within<Value>(coming: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new UpstreamFailure('timeout', 'AWS gave no credentials in time')),
    FETCH_TIMEOUT_MS,
  )
  try {
    return await Promise.race([coming, promise])
  } catch (cause) {
    if (cause instanceof UpstreamFailure) throw cause
    throw new UpstreamFailure('unauthorized', 'AWS gave no credentials for its role', { cause })
  } finally {
    clearTimeout(timer)
  }
}
