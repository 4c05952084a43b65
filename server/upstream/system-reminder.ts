/** Ours → theirs: instructions in the middle of a conversation, for wires that know them at its start alone. */
import type { Part, TextPart } from '#domain/conversation.ts'

/** As a text of the user's, which keeps their place. None where nothing is said. */
export function toReminder(parts: readonly Part[]): readonly TextPart[] {
  const texts = parts.filter((part) => part.type === 'text' && part.text.trim() !== '')
  const [first] = texts
  if (first?.type !== 'text') return []
  const words = texts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const mark = texts.findLast((part) => 'cacheMark' in part)
  return [
    {
      type: 'text',
      path: first.path,
      text: `<system-reminder>\n${words}\n</system-reminder>`,
      ...(mark && 'cacheMark' in mark && { cacheMark: mark.cacheMark }),
    },
  ]
}
