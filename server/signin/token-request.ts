/** What the token endpoint does beyond the library: the redirect address may be left out, and verifiers cannot be guessed. */
import { digestOf } from './register/digest.ts'
import type { SigninStore } from './store.ts'

const CODE = 'AuthorizationCode'

/**
 * The specification's token call names no redirect address (spec §4.6), and the library wants one. The code was issued for
 * one, so that is filled in; what a client does send is compared as ever. A field without a value is none (RFC 6749 §3.2).
 */
export async function withRedirect(
  { artifacts }: SigninStore,
  form: URLSearchParams,
): Promise<URLSearchParams> {
  const code = form.get('code')
  const stated = form.getAll('redirect_uri')
  if (code === null || stated.length > 1 || stated.some((uri) => uri !== '')) return form
  if (form.get('grant_type') !== 'authorization_code') return form
  const artifact = await artifacts.find(CODE, digestOf(code))
  const { redirectUri } = JSON.parse(artifact?.payload ?? '{}') as { readonly redirectUri?: string }
  const filled = new URLSearchParams(form)
  filled.set('redirect_uri', redirectUri ?? NOWHERE)
  return filled
}

/** For a code that nobody issued: so that the library says that of the code, and not that the address is missing. */
const NOWHERE = 'about:blank'

/** A client that gets its own verifier wrong so often is not the one that asked. */
const MOST_REFUSALS = 5
const MOST_REMEMBERED = 10_000

export interface RefusalCount {
  /**
   * Notes whether the token endpoint refused a code; the last refusal ends the code. Whoever did not prove to be a client was
   * not told anything of it, and cannot end it.
   */
  answered(form: URLSearchParams, answer: Response): Promise<void>
}

/** A wrong verifier does not use a code up, so each code is given a few tries (hardening §1.3). */
export function countRefusals({ artifacts }: SigninStore): RefusalCount {
  const refusals = new Map<string, number>()
  return {
    async answered(form, answer) {
      const code = form.get('code')
      if (code === null || !(await isGrantRefused(answer))) return
      const digest = digestOf(code)
      const count = (refusals.get(digest) ?? 0) + 1
      if (refusals.size >= MOST_REMEMBERED) refusals.clear()
      refusals.set(digest, count)
      if (count < MOST_REFUSALS) return
      refusals.delete(digest)
      const artifact = await artifacts.find(CODE, digest)
      // A used code stays, so that its replay is known for one.
      if (artifact?.consumedAt === null) await artifacts.remove(CODE, digest)
    },
  }
}

async function isGrantRefused(answer: Response): Promise<boolean> {
  if (answer.status !== 400) return false
  const { error } = (await answer.clone().json()) as { readonly error: string }
  return error === 'invalid_grant'
}
