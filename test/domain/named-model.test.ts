// The model that a name stands for: an alias, or a bare name that only one provider has; never one that the key may not call.
import { describe, expect, test } from 'vitest'
import type { Catalogue } from '#domain/catalogue.ts'
import { instant } from '#domain/clock.ts'
import { namedModel } from '#domain/named-model.ts'
import { findCard } from '#domain/walk/offer.ts'
import type { Dialect } from '#domain/work.ts'
import { aCard, aKey, aProvider } from '#test/support/nouns.ts'

const catalogueOf = (
  ids: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): Catalogue => {
  const cards = ids.map((id) => {
    const slash = id.indexOf('/')
    return aCard({ id, provider: id.slice(0, slash), upstreamName: id.slice(slash + 1) })
  })
  const types = {
    openai: 'openai',
    azure: 'azure',
    anthropic: 'anthropic',
    google: 'google',
  } as const
  return {
    version: 1,
    models: new Map(cards.map((card) => [card.id, card])),
    aliases: new Map(Object.entries(aliases)),
    providers: new Map(
      Object.entries(types).map(([name, type]) => [name, aProvider({ name, type })]),
    ),
    routes: new Map(),
    rates: [],
  }
}

const CATALOGUE = catalogueOf(
  [
    'anthropic/claude-haiku-4-5',
    'anthropic/gpt-5',
    'azure/gpt-4o',
    'google/gpt-5',
    'openai/claude-haiku-4-5',
    'openai/gpt-4o',
    'openai/gpt-5',
    'openai/gpt-5-mini',
    'openai/team/gpt-6',
  ],
  { 'claude-opus-4-8': 'openai/gpt-5', fast: 'openai/gpt-5-mini', 'old/name': 'openai/gpt-4o' },
)

const named = (
  name: string,
  dialect: Dialect = 'chat',
  allowed: readonly string[] | null = null,
  catalogue = CATALOGUE,
) => namedModel({ catalogue, key: aKey(instant(0), { allowedModels: allowed }), dialect }, name)?.id

describe('a name', () => {
  test.each<[string, string | undefined, Dialect?, string[]?]>([
    ['claude-opus-4-8', 'openai/gpt-5'],
    ['claude-opus-4-8-20261001', 'openai/gpt-5'],
    ['old/name', 'openai/gpt-4o'],
    ['gpt-5-mini', 'openai/gpt-5-mini'],
    // Of several providers the one that speaks the wire in which it is asked.
    ['gpt-5', 'openai/gpt-5', 'chat'],
    ['gpt-5', 'openai/gpt-5', 'responses'],
    ['gpt-5', 'anthropic/gpt-5', 'messages'],
    ['claude-haiku-4-5-20251001', 'anthropic/claude-haiku-4-5', 'messages'],
    ['claude-haiku-4-5-20251001', 'openai/claude-haiku-4-5', 'chat'],
    // What the key may not call is not there.
    ['gpt-4o', 'azure/gpt-4o', 'chat', ['azure/*']],
    ['claude-opus-4-8', 'openai/gpt-5', 'chat', ['openai/*']],
    ['claude-opus-4-8', undefined, 'chat', ['azure/*', 'claude-opus-4-8']],
    ['gpt-5', 'google/gpt-5', 'chat', ['google/*']],
    // Neither a date that is none, nor a name with a provider, nor a part of one.
    ['gpt-5-mini-99999999', undefined],
    ['-20251001', undefined],
    ['anthropic/claude-haiku-4-5-20251001', undefined],
    ['team/gpt-6', undefined],
    ['gpt-6', undefined],
    ['gpt', undefined],
    ['', undefined],
  ])('%j is %j (%s, %j)', (name, id, dialect = 'chat', allowed) => {
    expect(named(name, dialect, allowed ?? null)).toBe(id)
  })

  test('that may be several lists those that the key may call', () => {
    expect(() => named('gpt-4o')).toThrow(
      'gpt-4o may be several models: name one of azure/gpt-4o, openai/gpt-4o',
    )
    expect(() => named('gpt-4o', 'messages')).toThrow('several')
    expect(() => named('gpt-5', 'embeddings', ['anthropic/*', 'google/*'])).toThrow(
      'name one of anthropic/gpt-5, google/gpt-5',
    )
  })

  test('that two models of one provider have is that of the model with this id', () => {
    const twice = catalogueOf(['openai/gpt-5'])
    const other = aCard({ id: 'openai/cheap', provider: 'openai', upstreamName: 'gpt-5' })
    const models = new Map([[other.id, other], ...twice.models])
    expect(named('gpt-5', 'chat', null, { ...twice, models })).toBe('openai/gpt-5')
    const third = aCard({ id: 'openai/dear', provider: 'openai', upstreamName: 'gpt-5' })
    const both = new Map([other, third].map((card) => [card.id, card]))
    expect(() => named('gpt-5', 'chat', null, { ...twice, models: both })).toThrow('several')
  })
})

test('who asks hears nothing of what the key may not call', () => {
  const ask = (name: string, allowedModels: readonly string[] | null) => {
    try {
      return findCard(CATALOGUE, aKey(instant(0), { allowedModels }), 'chat', name).id
    } catch (thrown) {
      const { code, message } = thrown as { code: string; message: string }
      return [code, message]
    }
  }
  const { [0]: there, [1]: words } = ask('claude-opus-4-8', ['azure/*'])
  const { [0]: none, [1]: other } = ask('claude-opus-4-9', ['azure/*'])
  expect([there, none]).toEqual(['model_not_allowed', 'model_not_allowed'])
  expect(words?.replace('4-8', '4-9')).toBe(other)
  expect(ask('claude-opus-4-9', null)[0]).toBe('model_not_found')
  expect(ask('openai/gpt-5', ['openai/*'])).toBe('openai/gpt-5')
  expect(ask('openai/gpt-5', ['azure/*'])[0]).toBe('model_not_allowed')
  expect(ask('azure/gpt-5', ['azure/*'])[0]).toBe('model_not_found')
})
