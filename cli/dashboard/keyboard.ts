/** Translates terminal input into named keys; one chunk of input may hold several. */
import type { Key as InkKey } from 'ink'
import type { Key } from './press.ts'

const NAMED = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['escape', 'escape'],
  ['return', 'enter'],
  ['backspace', 'backspace'],
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof InkKey, Key])[]

/** In the order they were pressed. */
export function readKeys(input: string, key: InkKey): readonly Key[] {
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab']
  const named = NAMED.find(([flag]) => key[flag])
  if (named) return [named[1]]
  if (key.ctrl) return [`ctrl-${input}`]
  if (key.meta) return []
  return [...input].flatMap((character) => CONTROLS[character] ?? character)
}

/** Control characters inside a chunk of several keys. */
const CONTROLS: Readonly<Record<string, Key>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u001b': 'escape',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'ctrl-c',
  '\u000c': 'ctrl-l',
  '\u0015': 'ctrl-u',
  '\u001a': 'ctrl-z',
}
