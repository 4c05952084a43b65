/** Reads a stream of the Responses API as a strict client would, and says what is wrong with it. Written against the API, not the gateway. */
import { expect } from 'vitest'

// biome-ignore lint/suspicious/noExplicitAny: an event as it came.
export type Wire = any

/** Its events, each checked to be named as its data is, and numbered from 0 without a gap. */
export function readEvents(text: string): readonly Wire[] {
  expect(text.endsWith('\n\n')).toBe(true)
  const frames = text
    .split('\n\n')
    .filter((frame) => frame !== '' && !/^(?:: ?[^\n]*\n?)+$/.test(frame))
  return frames.map((frame, n) => {
    const [, name, data = ''] = /^event: (\S+)\ndata: (.+)$/.exec(frame) ?? [frame]
    const event = JSON.parse(data)
    expect([event.type, event.sequence_number]).toEqual([name, n])
    return event
  })
}

const ENDS = ['response.completed', 'response.incomplete', 'response.failed']

/** The last event, once the order of all of them is checked: every item and part is opened, filled, closed and repeated in full. */
export function checkOrder(events: readonly Wire[]): Wire {
  const last = events.at(-1)
  expect(ENDS).toContain(last.type)
  expect(events.slice(0, -1).some(({ type }) => ENDS.includes(type))).toBe(false)
  const failed = last.type === 'response.failed'
  const said = events.filter(({ type }) => type !== 'error')
  if (failed) expect(events.at(-2).type).toBe('error')
  else expect(said).toHaveLength(events.length)
  if (!(failed && said.length === 1)) {
    expect(said.slice(0, 2).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
    ])
  }
  const ids = said.flatMap(({ response }) => response?.id ?? [])
  expect(new Set(ids).size).toBe(1)
  const items: Wire[] = []
  for (const event of said) if (event.response === undefined) note(event, items)
  for (const [place, item] of items.entries()) {
    if (!failed) expect([place, item.isDone]).toEqual([place, true])
  }
  const output: Wire[] = last.response.output
  expect(output).toHaveLength(items.length)
  for (const [place, item] of output.entries()) {
    if (items[place].isDone) expect(item).toEqual(items[place].done)
    expect(item.id).toBe(items[place].id)
  }
  expect(new Set(output.map(({ id }) => id)).size).toBe(output.length)
  expect(last.response.store).toBe(false)
  return last
}

function note(event: Wire, items: Wire[]): void {
  const { type, output_index: at, item, item_id } = event
  if (type === 'response.output_item.added') {
    expect(at).toBe(items.length)
    expect(item.status).toBe('in_progress')
    items.push({ id: item.id, type: item.type, text: '', parts: [], isDone: false })
    return
  }
  const one = items[at]
  expect(one?.isDone, `${type} of an item that is not open`).toBe(false)
  if (type === 'response.output_item.done') {
    expect(item.id).toBe(one.id)
    expect(one.parts.every(({ isDone }: Wire) => isDone)).toBe(true)
    if (item.type === 'function_call')
      expect([item.arguments, one.isSaid]).toEqual([one.text, true])
    if (item.type === 'custom_tool_call') expect([item.input, one.isSaid]).toEqual([one.text, true])
    const parts = item.type === 'message' ? item.content : item.summary
    if (parts) expect(parts.map(textOf)).toEqual(one.parts.map(({ text }: Wire) => text))
    one.isDone = true
    one.done = item
    return
  }
  expect(item_id).toBe(one.id)
  notePart(event, one)
}

const textOf = (part: Wire): string => part.text ?? part.refusal

function notePart(event: Wire, one: Wire): void {
  const { type, delta, part, content_index, summary_index } = event
  const index = content_index ?? summary_index
  if (/part\.added$/.test(type)) {
    expect(index).toBe(one.parts.length)
    expect(textOf(part)).toBe('')
    one.parts.push({ text: '', isSaid: false, isDone: false })
  } else if (/part\.done$/.test(type)) {
    expect(one.parts[index].isSaid).toBe(true)
    expect(textOf(part)).toBe(one.parts[index].text)
    one.parts[index].isDone = true
  } else {
    const holder = index === undefined ? one : one.parts[index]
    expect(holder.isSaid ?? false).toBe(false)
    if (type.endsWith('.delta')) holder.text += delta
    else if (type.endsWith('.done')) {
      expect(event.text ?? event.refusal ?? event.arguments ?? event.input).toBe(holder.text)
      holder.isSaid = true
    } else throw new Error(`an event that is not expected: ${type}`)
  }
}
