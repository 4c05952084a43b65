/** GET /openapi.json. Requires no key; the document is loaded at the first request. */
import type { ApiDeps } from '../deps.ts'
import { JSON_TEXT, type RequestContext, respond } from '../request-context.ts'

export async function showDocument(
  { version }: ApiDeps,
  context: RequestContext,
): Promise<Response> {
  const { documentText } = await import('../openapi/document.ts')
  return respond(context, JSON_TEXT, documentText(version))
}
