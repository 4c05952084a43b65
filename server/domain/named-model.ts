/** The model that a name other than its id stands for: an alias, or the bare name that a provider has for it; and which may have been meant by a name of none. */
import type { Catalogue } from './catalogue.ts'
import { GatewayError } from './errors.ts'
import { type Bounds, mayCall } from './key.ts'
import type { ModelCard } from './model-card.ts'
import { type Family, familyOf } from './provider.ts'
import type { Dialect } from './work.ts'

/** Who asks by a name. */
interface Asker {
  readonly catalogue: Catalogue
  readonly key: Bounds
  readonly dialect: Dialect
}

/**
 * Among the models that the key may call: the alias, else the only model with this upstream name; then both without the date that
 * the name ends in (`claude-haiku-4-5-20251001`). @throws model_not_found where it may be several
 */
export function namedModel(asker: Asker, name: string): ModelCard | undefined {
  return namedBy(asker, name) ?? (DATED.test(name) ? namedBy(asker, undated(name)) : undefined)
}

const DATED = /.-20\d{6}$/
const undated = (name: string): string => name.slice(0, -'-20251001'.length)

function namedBy(asker: Asker, name: string): ModelCard | undefined {
  const { catalogue, key } = asker
  const id = catalogue.aliases.get(name)
  if (id !== undefined) return mayCall(key, id) ? catalogue.models.get(id) : undefined
  const found = byUpstreamName(catalogue).get(name) ?? []
  return name.includes('/') ? undefined : theOne(asker, name, found)
}

const INDEXES = new WeakMap<Catalogue, ReadonlyMap<string, readonly ModelCard[]>>()

/** Made when a catalogue is first asked for a bare name. */
function byUpstreamName(catalogue: Catalogue): ReadonlyMap<string, readonly ModelCard[]> {
  let index = INDEXES.get(catalogue)
  if (index === undefined) {
    index = Map.groupBy(catalogue.models.values(), ({ upstreamName }) => upstreamName)
    INDEXES.set(catalogue, index)
  }
  return index
}

/** Of several providers the one with the wire family of the surface; of one provider's models the one that has its own name. */
function theOne(
  { catalogue, key, dialect }: Asker,
  name: string,
  found: readonly ModelCard[],
): ModelCard | undefined {
  const known = found.filter(({ id }) => mayCall(key, id))
  const familiar = known.filter((card) => wireOf(catalogue, card) === FAMILIES[dialect])
  const left = isOfOneProvider(known) || familiar.length === 0 ? known : familiar
  if (left.length < 2) return left[0]
  const own = left.find(({ id, provider }) => id === `${provider}/${name}`)
  if (own !== undefined && isOfOneProvider(left)) return own
  const ids = left.map(({ id }) => id).join(', ')
  throw new GatewayError('model_not_found', `${name} may be several models: name one of ${ids}`, {
    param: 'model',
  })
}

const isOfOneProvider = (cards: readonly ModelCard[]): boolean =>
  cards.every(({ provider }) => provider === cards[0]?.provider)

const wireOf = ({ providers }: Catalogue, card: ModelCard): Family | undefined => {
  const provider = providers.get(card.provider)
  return provider && familyOf(provider.type, card)
}

/** The family whose wire a surface speaks. */
const FAMILIES: Readonly<Record<Dialect, Family>> = {
  chat: 'openai',
  messages: 'anthropic',
  responses: 'openai',
  embeddings: 'openai',
  rerank: 'openai',
}

const MOST = 3
/** Shorter words are part of too many names. */
const MIN_CHARS = 3

/** At most three ids, the most alike first. */
export function nearModels(
  { models }: Pick<Catalogue, 'models'>,
  key: Bounds,
  wanted: string,
): readonly string[] {
  const word = plain(nameOf(wanted))
  if (word.length < MIN_CHARS) return []
  return [...models.keys()]
    .filter((id) => mayCall(key, id))
    .map((id) => ({ id, likeness: likeness(word, plain(nameOf(id))) }))
    .filter(({ likeness: degree }) => degree > 0)
    .sort((a, b) => b.likeness - a.likeness || a.id.length - b.id.length)
    .slice(0, MOST)
    .map(({ id }) => id)
}

/** The last part: providers are left out, aggregators' ids have two. */
const nameOf = (id: string): string => id.slice(id.lastIndexOf('/') + 1)

/** Case and separators are mistyped most often. */
const plain = (text: string): string => text.toLowerCase().replace(/[-_.: ]/g, '')

/** 3: the same; 2: one contains the other; 1: most of the beginning is the same; 0: not alike. */
function likeness(word: string, name: string): number {
  if (word === name) return 3
  if (name.includes(word) || (name.length >= MIN_CHARS && word.includes(name))) return 2
  let same = 0
  while (same < word.length && word[same] === name[same]) same++
  return same >= MIN_CHARS && same * 3 >= word.length * 2 ? 1 : 0
}
