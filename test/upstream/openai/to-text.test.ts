// A body built from the client's text has the same value as one from JSON.stringify, whatever the client's text looked like.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { JsonBody } from '#http/read/body.ts'
import { anyText } from '#test/support/any-text.ts'
import { said } from '#test/support/json-body.ts'
import { FULL } from '#test/support/tier.ts'
import { toText } from '#upstream/openai/to-request.ts'

const LONG = 'Дом, "家" \\ and a good deal that is as plain as can be.\n'.repeat(2_000)

/** What is sent for this text when some of its members are left out and others put in. */
function send(text: string, without: readonly string[] = [], put: JsonObject = {}) {
  const source = new JsonBody(text)
  const change = (fields: JsonObject): JsonObject => {
    const kept = Object.entries(fields).filter(([name]) => !without.includes(name))
    return { ...Object.fromEntries(kept), ...put }
  }
  const written = said(toText(change(source.exact), source))
  return { sent: change(JSON.parse(text) as JsonObject), written }
}

function isSame(text: string, without: readonly string[] = [], put: JsonObject = {}): string {
  const { sent, written } = send(text, without, put)
  expect(sortNames(JSON.parse(written))).toBe(sortNames(JSON.parse(JSON.stringify(sent))))
  return written
}

const sortNames = (value: unknown): string =>
  JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

const messages = JSON.stringify([{ role: 'user', content: LONG }])

test('a long conversation is sent unchanged, with another model', () => {
  const spaced = `[ {"role" : "user",\n"content": ${JSON.stringify(LONG)} } ]`
  const text = ` { "model": "acme/a", "messages":${spaced}, "n":1.0, "allow_fallbacks": null }`
  const written = isSame(text, ['allow_fallbacks'], { model: 'a', stream: true })
  expect(written.includes(spaced)).toBe(true)
  expect(written.startsWith(' { "model": "a", "messages":')).toBe(true)
})

test('changed parts are not copied from the text', () => {
  const text = `{"model":"a","messages":${messages}}`
  const written = isSame(text, [], { messages: [{ role: 'user', content: 'changed' }] })
  expect(written).toBe('{"model":"a","messages":[{"role":"user","content":"changed"}]}')
})

describe('in doubt the body is serialized anew', () => {
  const nested = `[{"role":"user","role":"system","content":${JSON.stringify(LONG)}}]`
  test.each([
    ['a name twice', `{"messages":[],"messages":${messages}}`],
    ['a name twice, the long one first', `{"messages":${messages},"messages":[]}`],
    ['a name hidden by an escape', `{"messages":${messages},"m\\u0065ssages":[]}`],
    ['a name hidden by an escape, first', `{"m\\u0065ssages":[],"messages":${messages}}`],
    ['a name twice within', `{"messages":${nested}}`],
  ])('%s', (_, text) => {
    const written = isSame(text)
    expect(written === JSON.stringify(JSON.parse(text))).toBe(true)
  })

  test('so it is without a source', () => {
    expect(toText({ model: 'a' }, undefined)).toBe('{"model":"a"}')
  })
})

test('text inside strings that looks like structure is ignored', () => {
  const tricky = `}],"model":"x",{"\\":\\"`.repeat(300)
  for (const content of [tricky, `${tricky}\\`, `${tricky}\\\\"`, '\\'.repeat(5_001)]) {
    isSame(
      JSON.stringify({ a: content, model: 'b', messages: [content, { model: content }] }),
      [],
      {
        model: 'c',
      },
    )
  }
})

describe('anything that a client may write', () => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
  const quote = (text: string, isEscaped: boolean): string =>
    isEscaped
      ? `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
      : JSON.stringify(text)
  const short = fc.constantFrom('model', 'messages', 'a', 'n', '__proto__', '1', '', '"', '\\', 'é')
  const name = fc.tuple(short, fc.nat(20)).map(([text, dice]) => quote(text, dice === 0))
  const long = fc
    .tuple(anyText({ minLength: 1, maxLength: 30 }), fc.boolean())
    .map(([unit, isPlain]) => JSON.stringify((isPlain ? 'plain text ' : unit).repeat(600)))
  const leaf = fc.oneof(
    { weight: 3, arbitrary: long },
    anyText().map((text) => JSON.stringify(text)),
    fc.constantFrom('null', 'true', '-0', '1.50', '1E+2', '12345678901234567890', '[]', '{}'),
  )
  const value = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc
        .tuple(fc.array(tie('node'), { maxLength: 3 }), space)
        .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
      fc
        .tuple(fc.array(fc.tuple(name, tie('node')), { maxLength: 3 }), space)
        .map(([members, gap]) => toObject(members, gap)),
    ),
  })).node
  const toObject = (members: readonly (readonly [string, string])[], gap: string): string =>
    `{${gap}${members.map(([key, text]) => `${key}${gap}:${gap}${text}`).join(`${gap},${gap}`)}${gap}}`
  const document = fc
    .tuple(fc.array(fc.tuple(name, value), { maxLength: 6 }), space)
    .map(([members, gap]) => gap + toObject(members, gap) + gap)

  test('means the same', () => {
    fc.assert(
      fc.property(
        document,
        fc.subarray(['model', 'a', 'n']),
        fc.boolean(),
        (text, without, puts) => {
          const { sent, written } = send(
            text,
            without,
            puts ? { model: 'theirs', stream: true } : {},
          )
          expect(sortNames(JSON.parse(written)) === sortNames(sent)).toBe(true)
          // Not one name stands twice.
          expect(JSON.stringify(JSON.parse(written)).length).toBeLessThanOrEqual(
            written.length + 64,
          )
        },
      ),
      { numRuns: FULL ? 3_000 : 60 },
    )
  })
})

describe('all that was not changed is one piece, whatever stands between', () => {
  const kept = `"messages" :\t[{"role":"user","content":${JSON.stringify('Дом, "x"'.repeat(99))}}],\n"n":1.0`
  const rename = (fields: JsonObject): JsonObject => ({ ...fields, model: 'theirs' })

  test.each<[string, string, (fields: JsonObject) => JsonObject, readonly string[]]>([
    ['the first', `{"model":"a",${kept}}`, rename, ['{"model":', '"theirs"', `,${kept}}`]],
    ['the last', `{${kept}, "model":"a"}`, rename, [`{${kept}, "model":`, '"theirs"', '}']],
    ['added', `{${kept}}`, (fields) => ({ ...fields, x: 1 }), [`{${kept}`, ',"x":1', '}']],
    ['cut', `{${kept}, "user":"u"}`, ({ user: _, ...fields }) => fields, [`{${kept}`, '}']],
    ['nothing left', `{${kept}}`, () => ({}), ['{', '}']],
  ])('%s', (_, text, change, pieces) => {
    const source = new JsonBody(text)
    const sent = toText(change(source.exact), source)
    expect(typeof sent === 'string' ? [] : sent.map((piece) => said([piece]))).toEqual(pieces)
  })
})

test('a name that every object has of itself is no member', () => {
  const text = `{"toString":null,"__proto__":{"a":1},"messages":${JSON.stringify(LONG)}}`
  const source = new JsonBody(text)
  const { messages } = source.exact
  const written = said(toText({ messages, constructor: 'x' }, source))
  expect(written).toBe(`{"messages":${JSON.stringify(LONG)},"constructor":"x"}`)
})
