// Rendering pages: everything is escaped, valid HTML, and translated.
import { HtmlValidate } from 'html-validate'
import { describe, expect, test } from 'vitest'
import type { Language } from '#domain/language.ts'
import { renderPage, scriptOf, WORDS } from '#signin/pages/render.ts'
import type { PageView } from '#signin/pages/view.ts'
import { VIEWS } from './views.ts'

const LANGUAGES: readonly Language[] = ['en', 'ru']
const PAGES = LANGUAGES.flatMap((language) =>
  Object.entries(VIEWS).map(([name, view]) => ({ name, language, view })),
)
const HOST = 'auth.example.com'

/** Values that the program sets, never a person or a client. */
const DECIDED = new Set(['mark', 'page', 'kind', 'sentTo'])

/** The same view with a distinct hostile string in place of every string, field names included. */
function withHostileStrings<Value>(
  value: Value,
  garment: (nth: number) => string,
  count = { strings: 0 },
): Value {
  const clothe = (inner: unknown, key = ''): unknown => {
    if (typeof inner === 'string') return DECIDED.has(key) ? inner : garment(count.strings++)
    if (Array.isArray(inner)) return inner.map((item) => clothe(item))
    if (typeof inner !== 'object' || inner === null) return inner
    const pairs = Object.entries(inner).map(([name, item]) => [
      key === 'hidden' ? garment(count.strings++) : name,
      clothe(item, name),
    ])
    return Object.fromEntries(pairs)
  }
  return clothe(value) as Value
}

const hostile = (nth: number): string => `"'><script>alert(${nth})</script>&amp;`
const escaped = (nth: number): string =>
  `&quot;&#39;&gt;&lt;script&gt;alert(${nth})&lt;/script&gt;&amp;amp;`
const benign = (nth: number): string => `canary-${nth}-canary`

/** Values in a view that its page does not show. */
const unshown = (view: PageView): number =>
  view.page === 'code' && (view.problem?.kind === 'expired' || view.problem?.kind === 'spent')
    ? // The address, and the action and two pairs of the form that is not drawn.
      1 + 5
    : 0

test.each(PAGES)('$name ($language) escapes every value', async ({ view, language }) => {
  const count = { strings: 0 }
  const text = await renderPage(withHostileStrings(view, hostile, count), language, hostile(999))
  const plain = await renderPage(withHostileStrings(view, benign), language, benign(999))

  let seen = 0
  let undressed = text
  for (const nth of [...Array(count.strings).keys(), 999]) {
    if (text.includes(escaped(nth))) seen++
    undressed = undressed.replaceAll(escaped(nth), benign(nth))
  }
  expect(undressed).toBe(plain)
  expect(seen).toBe(count.strings + 1 - unshown(view))
})

const validator = new HtmlValidate({
  extends: ['html-validate:recommended', 'html-validate:a11y'],
  rules: {
    'doctype-style': ['error', { style: 'lowercase' }],
    // A title contains the client's name, and may be long.
    'long-title': 'off',
  },
})

test.each(PAGES)('$name ($language) is valid HTML', async ({ view, language }) => {
  const report = await validator.validateString(await renderPage(view, language, HOST))
  const found = report.results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `${line}: ${ruleId}: ${message}`),
  )
  expect(found).toEqual([])
})

describe('every page', () => {
  test.each(PAGES)(
    '$name ($language) has one heading, one title, its language, no script but its own',
    async ({ view, language }) => {
      const text = await renderPage(view, language, HOST)
      expect(text.match(/<h1>/g)).toHaveLength(1)
      expect(text.match(/<title>[^<]+<\/title>/g)).toHaveLength(1)
      expect(text).toContain(`<html lang="${language}">`)
      const script = scriptOf(view)
      const own = `<script src="${script}" type="module"></script>`
      expect(text.includes(own)).toBe(script !== undefined)
      expect(text.replace(own, '')).not.toMatch(/<script|\son\w+=|javascript:|style="/i)
      expect(text.match(/ autofocus/g)?.length ?? 0).toBe(/ type="(email|text)"/.test(text) ? 1 : 0)
    },
  )

  test('every element that describes a field exists', async () => {
    for (const { view, language } of PAGES) {
      const text = await renderPage(view, language, HOST)
      for (const [, ids = ''] of text.matchAll(/aria-(?:describedby|labelledby)="([^"]*)"/g)) {
        for (const id of ids.split(' ')) expect(text).toContain(` id="${id}"`)
      }
    }
  })
})

/** Every sentence of a dictionary, by its path; those that take a value are given a plain one. */
function sentencesOf(value: unknown, path = ''): [path: string, sentence: string][] {
  if (typeof value === 'function') {
    return [[path, String(value.length === 1 ? value(ARGUMENT) : value(ARGUMENT, 5))]]
  }
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([name, inner]) => sentencesOf(inner, `${path}.${name}`))
}

/** Serves as a name, as a problem with numbers, and as part of a page. */
const ARGUMENT = Object.assign(new String('NAME'), {
  name: 'NAME',
  minutes: 5,
  attemptsLeft: 5,
  isEscaped: true as const,
})

describe('the dictionaries', () => {
  test('translate every sentence, each in its own script', () => {
    const english = sentencesOf(WORDS.en)
    const russian = sentencesOf(WORDS.ru)
    expect(russian.map(([path]) => path)).toEqual(english.map(([path]) => path))
    const given = /NAME|cookie|name@example\.com/g
    expect(english.filter(([, sentence]) => /\p{Script=Cyrillic}/u.test(sentence))).toEqual([])
    const untranslated = russian.filter(
      ([, sentence]) =>
        /[a-z]/i.test(sentence.replaceAll(given, '')) || !/\p{Script=Cyrillic}/u.test(sentence),
    )
    expect(untranslated).toEqual([])
  })

  test.each([
    ['en', 1, 'One attempt is left.'],
    ['en', 4, '4 attempts are left.'],
    ['ru', 1, 'Осталась одна попытка.'],
    ['ru', 3, 'Осталось 3 попытки.'],
    ['ru', 5, 'Осталось 5 попыток.'],
  ] as const)('%s counts %d attempts', (language, attemptsLeft, expected) => {
    const { wrong } = WORDS[language].code.problems
    expect(wrong({ kind: 'wrong', attemptsLeft })).toContain(expected)
  })

  test.each([
    ['en', 1, '1 minute.'],
    ['en', 10, '10 minutes.'],
    ['ru', 1, '1 минуту.'],
    ['ru', 3, '3 минуты.'],
    ['ru', 11, '11 минут.'],
    ['ru', 21, '21 минуту.'],
  ] as const)('%s counts %d minutes', (language, minutes, expected) => {
    const tooMany = WORDS[language].signIn.problems['too-many-codes']
    expect(tooMany({ kind: 'too-many-codes', minutes })).toContain(expected)
  })
})

describe('the code page', () => {
  const code = VIEWS['code'] as Extract<PageView, { page: 'code' }>

  test('offers a field that phones fill in automatically', async () => {
    const text = await renderPage(code, 'en', HOST)
    expect(text).toMatch(
      /<input class="code"[^>]*name="code" inputmode="numeric" autocomplete="one-time-code"/,
    )
  })

  test.each(['expired', 'spent'] as const)('shows no field once the code is %s', async (kind) => {
    const text = await renderPage({ ...code, problem: { kind } }, 'en', HOST)
    expect(text).not.toContain('name="code"')
    expect(text).toContain(code.resend.action)
    expect(text).toContain(code.restart.action)
    expect(text).toContain('role="alert"')
  })
})

test('an unknown scope is shown by its name, even one named like a property of every object', async () => {
  const consent = VIEWS['consent'] as Extract<PageView, { page: 'consent' }>
  const text = await renderPage({ ...consent, scopes: ['toString', 'crm:read'] }, 'en', HOST)
  expect(text).toContain('<code><bdi>toString</bdi></code>')
  expect(text).toContain('<code><bdi>crm:read</bdi></code>')
})
