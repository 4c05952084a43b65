/** Which models a client may have meant by an id that is none, among those that its key may call. */
import type { Catalogue } from './catalogue.ts'
import { type Bounds, mayCall } from './key.ts'

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
