/** GET /openapi.json: the description of this interface. It asks for no key, and nothing of it is loaded before somebody does. */
import type { ApiDeps } from '../deps.ts'
import { headersFor, JSON_TEXT, type RequestContext } from '../request-context.ts'

export async function showDocument(
  { version }: ApiDeps,
  context: RequestContext,
): Promise<Response> {
  const { documentText } = await import('../openapi/document.ts')
  return new Response(documentText(version), { headers: headersFor(context, JSON_TEXT) })
}
