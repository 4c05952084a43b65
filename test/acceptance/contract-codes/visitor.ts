/** A kind of client. Every case runs for each kind, so that no refusal depends on how it was requested. */
import { renderDocument } from '#http/openapi/document.ts'
import type { VerbInput, VerbRecord } from '#operator/verbs.ts'
import { hear, holdTo } from '#test/support/openapi.ts'
import type { Scene } from './scene.ts'

export interface Manner {
  readonly prefix: '/v1' | '/api/v1'
  /** Of every key that the client uses, unless a case says otherwise. */
  readonly windows: { readonly rpm_limit?: number; readonly rpd_limit?: number }
  readonly stream: boolean
}

export const MANNERS: readonly Manner[] = [
  { prefix: '/v1', windows: {}, stream: false },
  { prefix: '/api/v1', windows: { rpm_limit: 50, rpd_limit: 900 }, stream: true },
  { prefix: '/v1', windows: { rpm_limit: 50 }, stream: true },
  { prefix: '/api/v1', windows: { rpd_limit: 900 }, stream: false },
]

/** No code occurs at a path, or with a header, that the OpenAPI document does not list. */
const holder = holdTo(JSON.parse(JSON.stringify(renderDocument('0'))))

type Issued = VerbRecord<'keys.create'>

export interface Visitor {
  readonly scene: Scene
  readonly manner: Manner
  /** The `X-Request-Id` that it sends. */
  readonly name: string
  /** The key that it uses; null until it has one. */
  readonly asking: Issued | null
  /** Issues a key with the rate windows of its kind, and uses it from then on. */
  key(fields?: Partial<VerbInput<'keys.create'>>): Promise<Issued>
  /** `path` follows the prefix; an object is sent as JSON, a string unchanged. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>
  /** A request to demo/echo with these fields replaced. */
  chat(more?: object, headers?: Record<string, string>): Promise<Response>
  /** An answer that runs until the client disconnects; it uses one slot. */
  keepTalking(more?: object, headers?: Record<string, string>): Promise<void>
  leave(): Promise<void>
}

export function startVisitor(scene: Scene, manner: Manner, name: string): Visitor {
  let asking: Issued | null = null
  const talks: Response[] = []

  const visitor: Visitor = {
    scene,
    manner,
    name,
    get asking() {
      return asking
    },
    async key(fields = {}) {
      asking = await scene.gateway.verb('keys.create', {
        name: 'visitor',
        ...manner.windows,
        ...fields,
      })
      return asking
    },
    async call(method, path, body, headers) {
      const response = await fetch(`${scene.gateway.url}${manner.prefix}${path}`, {
        method,
        headers: {
          'x-request-id': name,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(asking && { authorization: `Bearer ${asking.key}` }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      // Some good answers run until their client disconnects.
      if (!response.ok) holder.hold(method, manner.prefix + path, await hear(response.clone()))
      return response
    },
    chat: (more, headers) =>
      visitor.call(
        'POST',
        '/chat/completions',
        { model: 'demo/echo', messages: [user('hi')], stream: manner.stream, ...more },
        headers,
      ),
    async keepTalking(more, headers) {
      const talk = { model: 'demo/lorem', user: 'rate-5', stream: true, ...more }
      talks.push(await visitor.chat(talk, headers))
    },
    async leave() {
      await Promise.all(talks.map(({ body }) => body?.cancel()))
    },
  }
  return visitor
}

export const user = (content: unknown) => ({ role: 'user', content })
