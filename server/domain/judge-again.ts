/** Judges whether a logged request would be admitted now, by current limits, balance and catalogue; takes nothing. */
import type { ActivityEntry } from './activity.ts'
import type { Refusal } from './admission.ts'
import { untilCurrent } from './catalogue.ts'
import type { Clock } from './clock.ts'
import { type ErrorCode, GatewayError } from './errors.ts'
import { newGenerationId } from './id.ts'
import type { ApiKey } from './key.ts'
import { NO_MONEY } from './money.ts'
import { fixedCost } from './offer-cost.ts'
import { toRefusalError } from './refusal.ts'
import type { Store } from './store.ts'
import { findCard, offersOf } from './walk/offer.ts'

interface JudgeDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'owner' | 'admissions' | 'catalogue'>
}

/** Errors that depend on the request's body, which the log does not keep. */
const BODY_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'image_streaming_not_supported',
  'unsupported_modality',
  'unsupported_parameter',
])

/** The error that would refuse it now, or null; `unknown` if that depends on its body. */
export async function judgeAgain(
  deps: JudgeDeps,
  entry: ActivityEntry,
  key: ApiKey,
): Promise<GatewayError | 'unknown' | null> {
  try {
    const refusal = await judgeLimits(deps, entry)
    if (refusal?.code === 'key_revoked') return toRefusalError(refusal, key.name)
    const catalogue = deps.store.catalogue.current()
    offersOf(
      { catalogue, at: deps.clock.now() },
      findCard(catalogue, key, entry.surface, entry.model),
    )
    if (BODY_ERRORS.has(entry.code as ErrorCode)) return 'unknown'
    return refusal && toRefusalError(refusal, key.name)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
}

async function judgeLimits(
  { store, clock }: JudgeDeps,
  entry: ActivityEntry,
): Promise<Refusal | null> {
  const { requestId, keyId, accountId, model, endUser, surface, session, refusal } = entry
  const hold = refusal?.hold ?? NO_MONEY
  const offers = [fixedCost(hold)]
  const { owner } = store
  const asked = { requestId, keyId, accountId, model, endUser, surface, session }
  const claim = { ...asked, owner, repeat: null, offers }
  const verdict = await untilCurrent(() => {
    const at = clock.now()
    const { version: catalogue } = store.catalogue.current()
    return store.admissions.judge({ ...claim, generationId: newGenerationId(at), at, catalogue })
  })
  return verdict.admitted ? null : verdict.refusal
}
