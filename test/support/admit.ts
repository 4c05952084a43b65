/** Admission of a claim that is not stale, as most tests want it. */
import type { Admissions, Claim, Verdict } from '#domain/admission.ts'

export async function admitClaim(
  admissions: Pick<Admissions, 'admit'>,
  claim: Claim,
): Promise<Verdict> {
  const verdict = await admissions.admit(claim)
  if (verdict === 'stale') throw new Error('the catalogue is another than that of the claim')
  return verdict
}
