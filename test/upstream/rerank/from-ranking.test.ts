// An order of documents: a count that cannot be is neither charged nor passed on.
import { expect, test } from 'vitest'
import { NOT_GENERATED, type Rerank } from '#domain/work.ts'
import { fromRanking } from '#upstream/rerank/from-ranking.ts'
import { createScrub } from '#upstream/scrub.ts'

const request: Rerank = {
  ...NOT_GENERATED,
  kind: 'rerank',
  dialect: 'rerank',
  model: 'm',
  body: {},
  endUser: null,
  allowFallbacks: true,
  textBytes: 9,
  query: 'q',
  documents: ['a', 'b'],
  top: 2,
  isTopStated: false,
  shape: 'cohere',
  returnsDocuments: false,
  mostSearchUnits: 1,
  searchUnits: 1,
}

const read = (counts: object, shape: Rerank['shape'] = 'cohere') => {
  const order = [{ index: 1, relevance_score: 0.5 }]
  const body = { [shape === 'cohere' ? 'results' : 'data']: order, ...counts }
  const asked = { ...request, shape }
  const { events } = fromRanking(body, 'as it came', asked, createScrub('host', null))
  const usage = events.find((event) => event.type === 'usage')?.usage ?? null
  return { usage, passes: events.some(({ type }) => type === 'native') }
}
const units = (billed: object) => ({ meta: { billed_units: billed } })

test.each([
  ['search units', units({ search_units: 2 }), { searchUnits: 2 }],
  ['tokens', { usage: { total_tokens: 7 } }, { inputTokens: 7 }],
])('a count of %s is charged, and passes', (_, counts, usage) => {
  expect(read(counts)).toMatchObject({ usage, passes: true })
})

test('an answer without a count passes', () => {
  expect(read({})).toEqual({ usage: null, passes: true })
})

test.each([-5, 1e300, 2 ** 53, Number.NaN])('of %s nothing is charged or passed on', (count) => {
  const none = { usage: null, passes: false }
  expect(read(units({ search_units: count }))).toEqual(none)
  expect(read(units({ search_units: 1, input_tokens: count }))).toEqual(none)
  expect(read({ usage: { total_tokens: count } }, 'voyage')).toEqual(none)
})
