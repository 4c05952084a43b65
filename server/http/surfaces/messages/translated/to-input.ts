/** The arguments of a call as the object that Anthropic's API has for them. */

/** Whether they can be passed on piece by piece. */
export const isObjectText = (text: string): boolean => text.trimStart().startsWith('{')

/** As a JSON text. What is no object, such as the text of a custom tool, becomes its member `input`; nothing is an empty one. */
export function toInputText(text: string): string {
  if (isObjectText(text)) return text
  const isNothing = text.trim() === '' || text.trim() === 'null'
  return isNothing ? '{}' : JSON.stringify({ input: text })
}
