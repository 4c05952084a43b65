/** Changes top-level members of a JSON object in its text, and nothing else of it: neither order nor white space nor spelling. */
import type { JsonObject } from '#domain/chat.ts'
import { type Member, readMembers } from '#domain/json-text.ts'

/**
 * The text with each member of `set` given its value, wherever its name stands, or added at the end; and without those named in
 * `cut`. In pieces, so that a long text is not copied before it is encoded. A name counts however it is spelled, and each time
 * where it is repeated: parsers differ in which one they take. `text` must be a valid JSON object.
 */
export function spliceJson(
  text: string,
  set: JsonObject,
  cut: readonly string[] = [],
): readonly string[] {
  const members = readMembers(text)
  const isKept = ({ name }: Member): boolean => !cut.includes(name)
  const last = members.findLast(isKept)
  const pieces: string[] = []
  let from = 0
  const replace = (start: number, end: number, by: string): void => {
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

/** The members of `set` that the text has not. */
function renderAdded(set: JsonObject, members: readonly Member[], isFirst: boolean): string {
  const added = Object.keys(set).filter((name) => members.every((member) => member.name !== name))
  const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(set[name])}`).join(',')
  return text === '' || isFirst ? text : `,${text}`
}
