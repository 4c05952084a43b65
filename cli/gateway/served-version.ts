/** The version of the gateway that answered: after an upgrade the one before serves until it is restarted, and what it answers may have another shape. */
import { systemCodeOf } from '#domain/system-code.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { printNote } from '../terminal/output.ts'
import { VERSION } from '../version.ts'

/** Of a gateway of another version that has answered this command; 0.1.0 does not say which it is. */
let other: string | null = null

/** Notes once that a gateway of another version answers. */
export function seeVersion(context: Context, { headers }: Response): void {
  const served = headers.get('x-gateway-version')
  if (served === VERSION || other !== null) return
  other = served === null ? 'an older version' : `v${served}`
  printNote(
    context,
    `! the running gateway is of ${other}, this command of v${VERSION}: ${RESTART}`,
  )
}

const RESTART = 'restart the gateway with the newer one'

/** What is thrown by code that reads a document of another shape: a field that is missing, no JSON, no date. */
const MISREADINGS = [TypeError, SyntaxError, RangeError]

/** A connection that is lost is a TypeError too. */
export const isMisreading = (thrown: unknown): boolean =>
  MISREADINGS.some((kind) => thrown instanceof kind) && systemCodeOf(thrown) === ''

/** The error for a crash where a gateway of another version has answered; null where there is another reason. */
export function unreadableAnswer(thrown: unknown): CommandError | null {
  if (other === null || !isMisreading(thrown)) return null
  const message = `what the running gateway answers, of ${other}, cannot be read by v${VERSION}`
  return new CommandError('other_version', EXIT.failed, message, RESTART, { cause: thrown })
}
