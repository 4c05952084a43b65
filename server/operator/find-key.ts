/** Finds a key by id, exact name, or displayed prefix (cli grammar). */
import { GatewayError } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import { didYouMean, nearest } from '#forms/nearest.ts'
import type { OperatorDeps } from './deps.ts'

const MAX_CANDIDATES = 10
const MAX_NAMES = 1_000

/** @throws key_not_found, also when several keys match; the message then lists them */
export async function findKey(deps: OperatorDeps, text: string): Promise<ApiKey> {
  const found = await deps.store.keys.search(text, MAX_CANDIDATES)
  const byId = found.find(({ id }) => id === text)
  if (byId) return byId
  const named = found.filter(({ name }) => name === text)
  const candidates = named.length > 0 ? named : found
  // A name can be reused after its key was revoked; active keys take precedence.
  const active = candidates.filter(({ revokedAt }) => revokedAt === null)
  const meant = active.length > 0 ? active : candidates
  const [only, another] = meant
  if (only === undefined) throw await notFound(deps, text)
  if (another === undefined) return only
  throw new GatewayError(
    'key_not_found',
    `"${text}" means several keys\n${meant.map(describeKey).join('\n')}`,
    { hint: 'name one by its id: gatewayctl keys list' },
  )
}

const describeKey = ({ name, id, label }: ApiKey): string => `${name} (${id}, ${label})`

async function notFound({ store }: OperatorDeps, text: string): Promise<GatewayError> {
  const { keys } = await store.keys.list({ includeRevoked: false, limit: MAX_NAMES })
  const name = nearest(
    text,
    keys.map((key) => key.name),
  )
  const meant = keys.find((key) => key.name === name)
  const suggestion = didYouMean(meant && `${meant.name} (${meant.id})`)
  return new GatewayError('key_not_found', `no key is called "${text}"${suggestion}`, {
    hint: 'gatewayctl keys list',
  })
}
