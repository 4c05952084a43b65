/** `--allow`: who may enter an application. */
import { usageError } from '../exit.ts'

export const ALLOW_HELP =
  "who may enter: a group, ann@example.org, @example.org, or '*' for everybody; repeatable"

const EVERYBODY = '*'

/** Undefined if it was not given; null is everybody. @throws CommandError 2 */
export function readAllow(stated: readonly string[] | undefined): string[] | null | undefined {
  if (stated === undefined || !stated.includes(EVERYBODY)) return stated && [...stated]
  if (stated.length === 1) return null
  throw usageError("--allow '*' is everybody and cannot be combined with another --allow")
}
