/** GET /openapi.json. Requires no key; the document is loaded at the first request. */
import type { ApiDeps } from '../deps.ts'
import { headersFor, JSON_TEXT, type RequestContext } from '../request-context.ts'

export async function showDocument(
  { version }: ApiDeps,
  context: RequestContext,
): Promise<Response> {
  const { documentText } = await import('../openapi/document.ts')
  return new Response(documentText(version), { headers: headersFor(context, JSON_TEXT) })
}
