/** Finds parts of an exported file that no other gateway can apply, and the command that fixes each. */
import { type Instant, readInstant } from '#domain/clock.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { clean } from '../terminal/clean.ts'

type Exported = VerbRecord<'export'>

interface Obstacle {
  readonly what: string
  readonly next: string
}

interface Named {
  readonly name: string
  readonly account?: string | undefined
  readonly id?: string | undefined
  readonly expires_at?: string | undefined
}

/** Empty where the file can be applied anywhere. */
export const findObstacles = (
  { keys = [], clients = [], aliases = [], models = [] }: Exported,
  now: Instant,
): readonly Obstacle[] => [
  ...sharedNames('keys', keys),
  ...sharedNames('clients', clients),
  ...keys.filter(({ expires_at }) => isOver(expires_at, now)).map(ended),
  ...aliases.filter(({ model }) => !models.some(({ id }) => id === model)).map(ofDemo),
]

/** Objects with the same name are told apart only by id, which is different on another gateway. */
function sharedNames(nouns: 'keys' | 'clients', all: readonly Named[]): readonly Obstacle[] {
  const groups = Map.groupBy(
    all.filter(({ id }) => id !== undefined),
    ({ account = '', name }) => JSON.stringify([account, name]),
  )
  return [...groups.values()].map((group) => ({
    what: `${nouns} ${group.map(({ id }) => id).join(', ')} have the same name "${clean(group[0]?.name ?? '')}"`,
    next: `gatewayctl ${nouns} edit ${group.at(-1)?.id} --name NEW`,
  }))
}

const isOver = (end: string | undefined, now: Instant): boolean =>
  end !== undefined && (readInstant(end) ?? now) <= now

/** The models of the built-in demo are not in the file, and another gateway may have none of them. */
const ofDemo = ({ name, model }: { readonly name: string; readonly model: string }): Obstacle => ({
  what: `alias "${clean(name)}" names ${clean(model)}, a model of the demo`,
  next: `gatewayctl models unalias ${shellWord(name)}`,
})

const ended = ({ name, id, expires_at }: Named): Obstacle => ({
  what: `key "${clean(name)}" expired at ${expires_at}`,
  next: `gatewayctl keys revoke ${shellWord(id ?? name)}`,
})
