/** A screen as a response: for forms that are shown again with what is wrong in them. */
import type { Once } from '../once.ts'
import { pageOf } from '../respond.ts'
import type { Visit } from '../visit.ts'
import { frame } from './frame.ts'
import type { Sheet } from './parts.ts'

/** What a form does; it answers with a redirect, or with the screen again. */
export type Act = (visit: Visit, once: Once) => Promise<Response>

/** What an address shows. */
export type Show = (visit: Visit, once: Once) => Promise<Sheet | Response>

export const onPage = (visit: Visit, sheet: Sheet): Promise<Response> =>
  pageOf(visit.deps, frame(visit, sheet), { status: sheet.status, language: visit.language })
