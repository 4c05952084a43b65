/** Who came back from a third party, as a row of detours has it. */
import type { PendingIdentity } from '#signin/register/detour.ts'

export interface ArrivalRow {
  readonly provider: string
  readonly subject: string
  readonly told_name: string | null
  readonly told_email: string | null
}

export const toArrival = (row: ArrivalRow | null): PendingIdentity | undefined =>
  row === null
    ? undefined
    : {
        provider: row.provider,
        subject: row.subject,
        claimedName: row.told_name,
        claimedEmail: row.told_email,
      }
