// Whatever a person can be told is told in their language: each code, each notice of an account, and what is wrong in each field.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WORDS } from '#cabinet/words/words.ts'
import { CAUSE_NAMES, CAUSES } from '#domain/cause.ts'
import { ERROR_CODES } from '#domain/errors.ts'
import { LIMITS } from '#domain/limits.ts'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

const CYRILLIC = /[а-яё]/i
/** Names of fields, addresses and amounts stay as they are; two Latin words in a row are a sentence. */
const ENGLISH = /\b[a-z]{3,} [a-z]{2,}\b/i

test('every code is said in each language', () => {
  const codes = Object.keys(ERROR_CODES).toSorted()
  expect(Object.keys(WORDS.ru.codes).toSorted()).toEqual(codes)
  expect(Object.keys(WORDS.en.codes).toSorted()).toEqual(codes)
  for (const [code, sentence] of Object.entries(WORDS.ru.codes)) {
    expect([code, CYRILLIC.test(sentence), ENGLISH.test(sentence)]).toEqual([code, true, false])
  }
  expect(new Set(Object.values(WORDS.ru.codes)).size).toBe(codes.length)
  for (const [code, sentence] of Object.entries(WORDS.en.codes)) {
    expect([code, /^[A-Z].*\.$/.test(sentence), CYRILLIC.test(sentence)]).toEqual([
      code,
      true,
      false,
    ])
  }
})

test('every notice that concerns an account is said in each language, and every limit is called something', () => {
  const ours = CAUSE_NAMES.filter((name) => 'account_id' in CAUSES[name].facts).toSorted()
  for (const { notices, keys } of Object.values(WORDS)) {
    expect(Object.keys(notices).toSorted()).toEqual(ours)
    expect(Object.keys(keys.fields).toSorted()).toEqual(LIMITS.map(({ name }) => name).toSorted())
  }
  const facts = new Proxy({}, { get: () => 'x' })
  for (const say of Object.values(WORDS.ru.notices) as ((facts: unknown) => string)[]) {
    expect(say(facts)).toMatch(CYRILLIC)
    expect(say(facts)).not.toMatch(ENGLISH)
  }
})

interface Field {
  readonly name: string
  readonly value: string
  readonly isHidden: boolean
}

interface Form {
  readonly action: string
  readonly fields: readonly Field[]
}

/** The forms of a page that change something, as a browser would send them. */
function formsOf(html: string): readonly Form[] {
  const forms = [...html.matchAll(/<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs)]
  return forms.map(([, action = '', inside = '']) => ({
    action: action.replaceAll('&amp;', '&'),
    fields: [
      ...[...inside.matchAll(/<input[^>]*>/g)].map(([tag]) => ({
        name: attribute(tag, 'name'),
        value: attribute(tag, 'value'),
        isHidden: attribute(tag, 'type') === 'hidden',
      })),
      ...[...inside.matchAll(/<textarea[^>]*>([^<]*)/g)].map(([tag, value = '']) => ({
        name: attribute(tag, 'name'),
        value,
        isHidden: false,
      })),
      ...[...inside.matchAll(/<select[^>]*>(.*?)<\/select>/gs)].map(([tag, options = '']) => ({
        name: attribute(tag, 'name'),
        value: attribute(
          /<option[^>]*selected[^>]*>|<option[^>]*>/.exec(options)?.[0] ?? '',
          'value',
        ),
        isHidden: false,
      })),
    ],
  }))
}

const attribute = (tag: string, name: string): string =>
  new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''

/** What a form needs beside the odd one; an address is invited only so often. */
const goodOf = (name: string): string =>
  name === 'name' ? 'good' : name === 'email' ? `${crypto.randomUUID()}@example.org` : ''

/** What no field takes, or hardly any. */
const ODD = ['\u0001', 'x'.repeat(3_000), '-1', 'http://a:b@c/#d', '']

describe('what is wrong in a form', () => {
  let house: House

  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(() => house.close())

  async function speaksRussian(browser: Browser): Promise<void> {
    const page = await browser.open('/cabinet/you')
    const form = { csrf: csrfOf(page), language: 'ru' }
    await post(browser, house.authUrl, '/cabinet/you/language', form)
  }

  /** Each visible field of the page's forms, with each odd value; what was said, by field. */
  async function tryAll(browser: Browser, path: string): Promise<ReadonlyMap<string, string>> {
    const said = new Map<string, string>()
    const names = formsOf((await browser.open(path)).text).flatMap(({ action, fields }) =>
      fields.filter(({ isHidden }) => !isHidden).map(({ name }) => [action, name] as const),
    )
    for (const [action, name] of names) {
      for (const odd of ODD) {
        const form = formsOf((await browser.open(path)).text).find((one) => one.action === action)
        const sent = Object.fromEntries(
          (form?.fields ?? []).map((one) => [one.name, one.value || goodOf(one.name)]),
        )
        const { status, text } = await post(browser, house.authUrl, action, {
          ...sent,
          [name]: odd,
        })
        if (status < 400) continue
        expect(status).not.toBe(429)
        const sentence =
          /<p class="problem" role="alert">([^<]*)</.exec(text)?.[1] ??
          /<p class="note">([^<]*)</.exec(text)?.[1] ??
          ''
        expect([path, name, odd, status, sentence]).toEqual([
          path,
          name,
          odd,
          status,
          expect.stringMatching(CYRILLIC),
        ])
        expect([path, name, odd, ENGLISH.test(sentence), sentence]).toEqual([
          path,
          name,
          odd,
          false,
          sentence,
        ])
        said.set(name, sentence)
      }
    }
    return said
  }

  test('is said in Russian, of every field of every form', async () => {
    await house.person('cleo@example.org', 'viewer')
    const { id } = await house.act('keys.create', { name: 'one' })
    const said = new Map<string, string>()
    for (const [n, path] of [
      '/cabinet/keys/new',
      `/cabinet/keys/${id}`,
      '/cabinet/balance',
      '/cabinet/people',
      '/cabinet/models/demo/echo',
    ].entries()) {
      // Each their own: a person asks for so many changes a minute.
      const { browser } = await house.person(`ann-${n}@example.org`, 'owner')
      await speaksRussian(browser)
      for (const [name, sentence] of await tryAll(browser, path)) said.set(name, sentence)
    }
    // Every field that refuses anything has said so.
    expect([...said.keys()].toSorted()).toEqual(
      [
        ...LIMITS.map(({ name }) => name),
        ...['below', 'email', 'grace', 'key', 'member_daily', 'name', 'note', 'prompt', 'webhook'],
      ].toSorted(),
    )
    expect(house.faults).toEqual([])
  })

  test('is said in Russian of a ceiling that a member may not have', async () => {
    const { browser } = await house.person('mia@example.org', 'member')
    await speaksRussian(browser)
    const said = await tryAll(browser, '/cabinet/keys/new')
    expect(said.get('daily_spend_limit_usd')).toContain('$5.00')
  })

  test('is said in English by the label of the field', async () => {
    const { browser } = await house.person('eve@example.org', 'owner')
    const page = await browser.open('/cabinet/keys/new')
    const form = { csrf: csrfOf(page), name: 'x', daily_spend_limit_usd: 'much' }
    const { status, text } = await post(browser, house.authUrl, '/cabinet/keys/new', form)
    expect(status).toBe(400)
    expect(text).toContain('>Dollars a day must be a decimal amount')
    const counted = { csrf: csrfOf(page), name: 'x', rpm_limit: '0', concurrency_limit: '' }
    const none = await post(browser, house.authUrl, '/cabinet/keys/new', counted)
    expect(none.text).toContain(
      '>Requests a minute: a whole number from 1 to 10000000; an empty field is no limit.<',
    )
  })
})
