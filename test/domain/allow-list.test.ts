// Masks are compared as text: exact ids, `<provider>/*` and `*`, nothing else.
import { describe, expect, test } from 'vitest'
import { allows, idleMasks, isMask } from '#domain/key.ts'

describe('a mask', () => {
  test.each(['*', 'acme/*', 'acme/small', 'acme/small:free', 'acme/team/small', 'a.b-c_d/x'])(
    '%s is one',
    (text) => {
      expect(isMask(text)).toBe(true)
    },
  )

  test.each([
    '',
    'acme',
    '/',
    'acme/',
    '/small',
    '*/small',
    '*/*',
    'acme/sm*',
    'ac*/small',
    'acme/*/x',
    'acme/ small',
    'acme /small',
    '**',
    `acme/${'x'.repeat(300)}`,
  ])('%j is none', (text) => {
    expect(isMask(text)).toBe(false)
  })
})

describe('an allow-list', () => {
  test.each([
    [null, 'acme/small', true],
    [[], 'acme/small', false],
    [['*'], 'acme/small', true],
    [['acme/*'], 'acme/small', true],
    [['acme/*'], 'acme/team/small', true],
    [['acme/*'], 'acme2/small', false],
    [['acme/*'], 'acme', false],
    [['acme/*'], 'Acme/small', false],
    [['acme/small'], 'acme/small', true],
    [['acme/small'], 'acme/smaller', false],
    [['acme/small'], 'acme/smal', false],
    [['other/x', 'acme/*'], 'acme/small', true],
    [['acme/.*'], 'acme/small', false],
    [['acme/_mall'], 'acme/small', false],
    [['acme/%'], 'acme/small', false],
  ] as const)('%j and %s: %s', (list, model, allowed) => {
    expect(allows(list, model)).toBe(allowed)
  })

  test('names the masks that match nothing today', () => {
    const models = ['acme/small', 'acme/large']
    expect(idleMasks(['acme/*', 'acme/small', 'other/*', 'acme/tiny'], models)).toEqual([
      'other/*',
      'acme/tiny',
    ])
    expect(idleMasks(null, models)).toEqual([])
    expect(idleMasks(['*'], [])).toEqual(['*'])
  })
})
