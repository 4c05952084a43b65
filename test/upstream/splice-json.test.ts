// Members of a JSON text are replaced, cut and added, and every other character of it stays.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { JsonBody } from '#http/read/body.ts'
import { said } from '#test/support/json-body.ts'
import { spliceJson } from '#upstream/splice-json.ts'

const splice = (text: string, set: JsonObject, cut?: readonly string[]): string =>
  said(spliceJson(new JsonBody(text), set, cut))

describe('a value is replaced where it stands', () => {
  test.each([
    ['{"model":"a"}', '{"model":"b/c"}'],
    ['{ "model" : "a" , "x":1}', '{ "model" : "b/c" , "x":1}'],
    ['\n{\t"x": 1e300,\r\n"model":\n"a"\n}\n', '\n{\t"x": 1e300,\r\n"model":\n"b/c"\n}\n'],
    ['{"mod\\u0065l":"a"}', '{"mod\\u0065l":"b/c"}'],
    [
      '{"model":"a","x":{"model":"a"},"model":"d"}',
      '{"model":"b/c","x":{"model":"a"},"model":"b/c"}',
    ],
    [
      '{"x":[{"model":"a"}],"y":"\\"model\\":\\"a\\"","model":"a"}',
      '{"x":[{"model":"a"}],"y":"\\"model\\":\\"a\\"","model":"b/c"}',
    ],
    ['{"x\\\\":"\\\\","model":"a"}', '{"x\\\\":"\\\\","model":"b/c"}'],
    ['{"model":null,"x":true}', '{"model":"b/c","x":true}'],
    ['{"model":12345678901234567890.5e-3,"x":true}', '{"model":"b/c","x":true}'],
    ['{"model":{"a":["}]"]},"x":[]}', '{"model":"b/c","x":[]}'],
    ['{"model":"é\\ud83d\\ude00😀","é":"😀"}', '{"model":"b/c","é":"😀"}'],
  ])('%j', (text, spliced) => {
    expect(splice(text, { model: 'b/c' })).toBe(spliced)
  })
})

describe('a member is added where there is none', () => {
  test.each([
    ['{}', '{"max_tokens":5}'],
    ['{ }', '{"max_tokens":5 }'],
    ['{"x":{"max_tokens":1}}', '{"x":{"max_tokens":1},"max_tokens":5}'],
    ['{"x":1 }', '{"x":1,"max_tokens":5 }'],
    ['{"cut":1}', '{"max_tokens":5}'],
    ['{"x":1, "cut":1 }', '{"x":1,"max_tokens":5 }'],
  ])('%j', (text, spliced) => {
    expect(splice(text, { max_tokens: 5 }, ['cut'])).toBe(spliced)
  })
})

describe('members are cut with one comma', () => {
  test.each([
    ['{"a":1, "x":2}', '{"x":2}'],
    ['{"x":2, "a":1}', '{"x":2}'],
    ['{"x":2 , "a":1 , "y":3}', '{"x":2 , "y":3}'],
    ['{"a":1,"b":[2,{"a":3}],"x":4}', '{"x":4}'],
    ['{"x":4,"a":1, "b":2 }', '{"x":4 }'],
    ['{"a":1,"x":{"a":[1,2]},"a":2}', '{"x":{"a":[1,2]}}'],
    ['{"\\u0061":1}', '{}'],
    ['{ "a" : 1 , "b":2 }', '{  }'],
  ])('%j', (text, spliced) => {
    expect(splice(text, {}, ['a', 'b'])).toBe(spliced)
  })
})

test('whatever the object: what is parsed has the changes, and no other character is gone', () => {
  const name = fc.oneof(fc.constantFrom('model', 'max_tokens', 'models', 'x'), fc.string())
  const text = fc
    .array(fc.tuple(name, fc.jsonValue(), fc.constantFrom('', ' ', '\n\t', '  ')))
    .map((members) => {
      const texts = members.map(
        ([key, value, space]) =>
          `${space}${JSON.stringify(key)}${space}:${space}${JSON.stringify(value, null, space)}${space}`,
      )
      return `{${texts.join(',')}}`
    })
  fc.assert(
    fc.property(text, (source) => {
      const spliced = splice(source, { model: 'm', max_tokens: 7 }, ['models'])
      const { models: _, ...rest } = JSON.parse(source)
      expect(JSON.parse(spliced)).toEqual({ ...rest, model: 'm', max_tokens: 7 })
      if (!source.includes('mod') && !source.includes('max_tokens')) {
        const added = '"model":"m","max_tokens":7'
        expect(spliced.replace(`,${added}`, '').replace(added, '')).toBe(source)
      }
    }),
    { examples: [['{"__proto__":1}']] },
  )
})
