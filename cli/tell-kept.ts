/** Says so where the log no longer has all that was asked for, rather than let a part pass for the whole. */
import type { Context } from './context.ts'
import { call } from './gateway/operator.ts'
import { tell } from './terminal/output.ts'

/** `keptSince` is null where nothing is missing. */
export function tellKept(context: Context, keptSince: string | null): void {
  if (keptSince === null) return
  tell(
    context,
    `! requests that ended before ${keptSince} are no longer in the log; the ledger has every charge`,
  )
}

/** The same where the answer does not tell; asks only where somebody reads it. */
export async function tellOfKept(context: Context, since: string | null): Promise<void> {
  if (context.quiet || context.json) return
  tellKept(context, (await call(context, 'activity.kept', { since })).kept_since)
}
