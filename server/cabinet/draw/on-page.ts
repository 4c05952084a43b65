/** A screen as a response: for forms that are shown again with what is wrong in them. */
import { type ErrorCode, type ErrorDetails, GatewayError } from '#domain/errors.ts'
import type { Once } from '../once.ts'
import { pageOf } from '../respond.ts'
import type { Visit } from '../visit.ts'
import { frame } from './frame.ts'
import type { Sheet } from './parts.ts'

/** What a form does; it answers with a redirect, or with the screen again. */
export type Act = (visit: Visit, once: Once) => Promise<Response>

/** What an address shows. */
export type Show = (visit: Visit, once: Once) => Promise<Sheet | Response>

/** With what was wrong. */
export async function onPage(
  visit: Visit,
  sheet: Sheet,
  { retryAfterSeconds }: ErrorDetails = {},
): Promise<Response> {
  const { deps, language } = visit
  const page = await pageOf(deps, frame(visit, sheet), { status: sheet.status, language })
  if (retryAfterSeconds !== undefined) page.headers.set('Retry-After', String(retryAfterSeconds))
  return page
}

/** The screen again, as the form was sent, where what was wrong is said on it. @throws anything else */
export async function refusedOnPage(
  visit: Visit,
  thrown: unknown,
  saidHere: readonly ErrorCode[],
  draw: (problem: GatewayError) => Sheet | Promise<Sheet>,
): Promise<Response> {
  if (!(thrown instanceof GatewayError) || !saidHere.includes(thrown.code)) throw thrown
  return await onPage(visit, await draw(thrown), thrown.details)
}
