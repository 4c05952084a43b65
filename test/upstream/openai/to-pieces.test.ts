// Serializing a long body in pieces: unchanged parts are copied from the source, in linear time.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { toPieces } from '#upstream/openai/to-text.ts'

const PROSE = 'As plain as can be.\n'.repeat(250)

function send(text: string, change: (fields: JsonObject) => JsonObject): readonly string[] {
  const fields = JSON.parse(text) as JsonObject
  return toPieces(change(fields), { text, fields })
}

const rename = (fields: JsonObject): JsonObject => ({ ...fields, model: 'theirs' })

test('all that was not changed is one piece, whatever stands between', () => {
  const kept = `"messages" :\t[{"role":"user","content":${JSON.stringify(PROSE)}}],\n"n":1.0`
  expect(send(`{"model":"acme/a",${kept}}`, rename)).toEqual(['{"model":"theirs",', kept, '}'])
  expect(send(`{${kept}, "model":"acme/a"}`, rename)).toEqual(['{', kept, ',"model":"theirs"}'])
  const add = (fields: JsonObject) => ({ ...fields, stream: true })
  expect(send(`{${kept}}`, add)).toEqual(['{', kept, ',"stream":true}'])
  const without = ({ n: _, ...fields }: JsonObject) => fields
  expect(send(`{${kept}, "user":"u"}`, without)).toEqual([
    '{',
    kept.slice(0, kept.indexOf(',\n')),
    ',',
    '"user":"u"',
    '}',
  ])
  expect(send(`{${kept}}`, () => ({}))).toEqual(['{}'])
})

describe('within a string', () => {
  const say = (content: string) => `{"model":"a","messages":[${JSON.stringify(content + PROSE)}]}`

  test.each([
    ['JSON', '{"model":"x", "b\\\\" : 1}\\'],
    ['colons', 'a: b :c " : https://example.com/'],
  ])('%s is no name', (_, content) => {
    const text = say(content)
    const behind = text.slice(text.indexOf('"messages"'), -1)
    expect(send(text, rename)).toEqual(['{"model":"theirs",', behind, '}'])
  })

  test('a colon at its very beginning may be one', () => {
    const text = say(' : x')
    expect(send(text, rename)).toEqual([text.replace('"a"', '"theirs"')])
  })
})

test('a name that every object has of itself is no member', () => {
  const text = `{"toString":null,"__proto__":{"a":1},"messages":${JSON.stringify(PROSE)}}`
  const written = send(text, ({ messages }) => ({ messages, constructor: 'x' })).join('')
  expect(written).toBe(`{"messages":${JSON.stringify(PROSE)},"constructor":"x"}`)
})

test('names that are numbers, which come first in the value, are put in order by writing anew', () => {
  const text = `{"b":1,"x\\"1":2,"1":[${JSON.stringify(PROSE)}]}`
  expect(send(text, rename).join('')).toBe(JSON.stringify(rename(JSON.parse(text) as JsonObject)))
})

test('nothing but colons is not looked through to its end', () => {
  const text = `{"model":"a","messages":[${JSON.stringify(`x${':'.repeat(100_000)}`)}]}`
  expect(send(text, rename)).toEqual([text.replace('"a"', '"theirs"')])
})
