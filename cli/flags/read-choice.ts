/** A value that is one of a few words. */
import { suggest } from '#forms/nearest.ts'
import { usageError } from '../exit.ts'

/** `what` names the flag or argument. @throws CommandError 2, with a suggestion */
export function readChoice<Word extends string>(
  what: string,
  text: string,
  known: readonly Word[],
): Word {
  const found = known.find((word) => word === text)
  if (found !== undefined) return found
  const words = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`
  throw usageError(`${what} must be ${words} (got "${text}")${suggest(text, known)}`)
}
