/** Changes top-level members of a client's JSON object, and nothing else of it: neither order nor white space nor spelling. */
import type { JsonObject } from '#domain/chat.ts'
import type { Member } from '#domain/json-text.ts'
import type { BodySource } from '#domain/work.ts'
import type { Pieces } from './reply.ts'

/**
 * The object with each member of `set` given its value, wherever its name stands, or added at the end; and without those named in
 * `cut`. In pieces, so that nothing is copied. A name counts however it is spelled, and each time where it is repeated: parsers
 * differ in which one they take.
 */
export function spliceJson(
  { text, members }: Pick<BodySource, 'text' | 'members'>,
  set: JsonObject,
  cut: readonly string[] = [],
): Pieces {
  const isKept = ({ name }: Member): boolean => !cut.includes(name)
  const last = members.findLast(isKept)
  const pieces: string[] = []
  let from = 0
  const replace = (start: number, end: number, by: string): void => {
    if (start === end && by === '') return
    if (start > from) pieces.push(text.slice(from, start))
    if (by !== '') pieces.push(by)
    from = end
  }
  for (const [i, member] of members.entries()) {
    const { name, start, valueStart, end } = member
    if (isKept(member)) {
      if (Object.hasOwn(set, name)) replace(valueStart, end, JSON.stringify(set[name]))
    } else if (last !== undefined && start < last.start) {
      // With the comma that follows it.
      replace(start, members[i + 1]?.start ?? end, '')
    }
  }
  const tail = members.at(-1)?.end ?? text.indexOf('{') + 1
  replace(
    last?.end ?? members[0]?.start ?? tail,
    tail,
    renderAdded(set, members, last === undefined),
  )
  pieces.push(text.slice(from))
  return pieces
}

/** The members of `set` that the object has not. */
function renderAdded(set: JsonObject, members: readonly Member[], isFirst: boolean): string {
  const added = Object.keys(set).filter((name) => members.every((member) => member.name !== name))
  const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(set[name])}`).join(',')
  return text === '' || isFirst ? text : `,${text}`
}
