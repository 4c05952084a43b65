/** GET /openapi.json: the description of this interface. It asks for no key, and nothing of it is loaded before somebody does. */
import type { CounterHouse } from '../house.ts'
import { headersFor, JSON_TEXT, type Visit } from '../visit.ts'

export async function showDocument({ version }: CounterHouse, visit: Visit): Promise<Response> {
  const { documentText } = await import('../openapi/document.ts')
  return new Response(documentText(version), { headers: headersFor(visit, JSON_TEXT) })
}
