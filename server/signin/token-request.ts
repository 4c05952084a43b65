/** Additions to the token endpoint: `redirect_uri` is optional, and guesses of PKCE verifiers are limited. */
import { digestOf } from './register/digest.ts'
import { requestArtifacts } from './request-artifacts.ts'

const CODE = 'AuthorizationCode'

/**
 * `redirect_uri` is optional here (contract §10), but the library requires it, so a missing one is filled in from the code. One that
 * the client sends is compared as usual. A parameter without a value counts as omitted (RFC 6749 §3.2).
 */
export async function withRedirect(form: URLSearchParams): Promise<URLSearchParams> {
  const code = form.get('code')
  const stated = form.getAll('redirect_uri')
  if (code === null || stated.length > 1 || stated.some((uri) => uri !== '')) return form
  if (form.get('grant_type') !== 'authorization_code') return form
  const artifact = await requestArtifacts().find(CODE, digestOf(code))
  const { redirectUri } = JSON.parse(artifact?.payload ?? '{}') as { readonly redirectUri?: string }
  const filled = new URLSearchParams(form)
  filled.set('redirect_uri', redirectUri ?? NOWHERE)
  return filled
}

/** For an unknown code, so that the library reports the code as invalid instead of a missing `redirect_uri`. */
const NOWHERE = 'about:blank'

/** Refusals after which a code is revoked. */
const MAX_REFUSALS = 5

/**
 * Counts refusals of a code by the token endpoint, whichever node gives them; the last one allowed revokes it. A wrong verifier does
 * not consume the code, so the number of attempts per code is limited (hardening §1). Requests without client authentication are not
 * counted, so that they cannot revoke a code.
 */
export async function countRefusal(form: URLSearchParams, answer: Response): Promise<void> {
  const code = form.get('code')
  if (code === null || !(await isGrantRefused(answer))) return
  const artifacts = requestArtifacts()
  const artifact = await artifacts.find(CODE, digestOf(code))
  // A used code is kept, so that its replay is detected.
  if (artifact === undefined || artifact.consumedAt !== null) return
  const payload = JSON.parse(artifact.payload) as { readonly refusals?: number }
  const refusals = (payload.refusals ?? 0) + 1
  if (refusals >= MAX_REFUSALS) await artifacts.remove(CODE, artifact.digest)
  else artifacts.put({ ...artifact, payload: JSON.stringify({ ...payload, refusals }) })
}

async function isGrantRefused(answer: Response): Promise<boolean> {
  if (answer.status !== 400) return false
  const { error } = (await answer.clone().json()) as { readonly error: string }
  return error === 'invalid_grant'
}
