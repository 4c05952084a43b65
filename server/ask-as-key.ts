/** Sends a request as a key, without its secret: for a person who may spend by it, in the cabinet. */
import { randomBytes } from 'node:crypto'
import type { ApiKey } from '#domain/key.ts'
import { createApi } from '#http/app.ts'
import type { ApiDeps } from '#http/deps.ts'

/** The answer of `POST /v1/chat/completions`: the same checks, limits, log and charge as any request of the key. */
export type AskAsKey = (key: ApiKey, body: object, signal: AbortSignal) => Promise<Response>

export function askAsKey(deps: ApiDeps): AskAsKey {
  /** Each for one request. */
  const tickets = new Map<string, ApiKey>()
  const { keys } = deps.store
  const api = createApi({
    ...deps,
    store: {
      ...deps.store,
      keys: {
        ...keys,
        findBySecret: async (token) => {
          const key = tickets.get(token)
          tickets.delete(token)
          return key && (await keys.find(key.id))
        },
      },
    },
  })
  return async (key, body, signal) => {
    const ticket = `ticket-${randomBytes(32).toString('base64url')}`
    tickets.set(ticket, key)
    return await api.fetch(
      new Request('http://cabinet/v1/chat/completions', {
        method: 'POST',
        headers: { Authorization: `Bearer ${ticket}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      }),
    )
  }
}
