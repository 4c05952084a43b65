/** Warns that the log no longer covers the whole period asked for. */
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { printNote } from '../terminal/output.ts'

/** Does nothing where `keptSince` is null. */
export function warnOfTrimmed(context: Context, keptSince: string | null): void {
  if (keptSince === null) return
  printNote(
    context,
    `! requests that ended before ${keptSince} are no longer in the log; the ledger has every charge`,
  )
}

/** The same for answers without `kept_since`; asks the gateway only where the warning is shown. */
export async function checkTrimmed(context: Context, since: string | null): Promise<void> {
  if (context.quiet || context.json) return
  warnOfTrimmed(context, (await call(context, 'activity.kept', { since })).kept_since)
}
