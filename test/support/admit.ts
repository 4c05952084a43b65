/** Admission of a claim that is not stale and repeats none, as most tests want it. */
import type { Admissions, Claim, Verdict } from '#domain/admission.ts'

export async function admitClaim(
  admissions: Pick<Admissions, 'admit'>,
  claim: Claim,
): Promise<Verdict> {
  const verdict = await admissions.admit(claim)
  if (verdict === 'stale') throw new Error('the catalogue is another than that of the claim')
  if ('repetition' in verdict) throw new Error('the claim repeats another')
  return verdict
}
