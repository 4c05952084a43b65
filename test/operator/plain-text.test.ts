// What operators name is shown in lists and logs: no door takes control characters in it.
import { expect, test } from 'vitest'
import type { VerbName } from '#operator/verbs.ts'
import { act, openFurnished } from './deps.ts'

const BELL = 'a\u0007'
const PRICE = { in_usd: '1', out_usd: '2' }

test.each<readonly [VerbName, object, string]>([
  ['models.add', { ...PRICE, model: `demo/${BELL}` }, 'must look like provider/model'],
  ['models.add', { ...PRICE, model: 'demo/a', upstream: BELL }, 'control characters'],
  ['models.alias.set', { name: BELL, model: 'demo/echo' }, 'a control character'],
  ['models.route.set', { model: 'demo/echo', provider: 'demo', upstream: BELL }, 'control char'],
  ['models.route.set', { model: `demo/${BELL}*`, provider: 'demo' }, 'no model is called'],
  ['plan', { document: { models: [{ id: `demo/${BELL}` }] } }, 'must look like provider/model'],
  ['plan', { document: { models: [{ id: 'demo/a', upstream: BELL }] } }, 'control characters'],
  ['plan', { document: { aliases: [{ name: BELL, model: 'demo/echo' }] } }, 'a control character'],
  ['keys.create', { name: 'k', allowed_models: [`demo/${BELL}`] }, 'must be a model id'],
])('%s %j is refused', async (verb, input, words) => {
  const deps = await openFurnished()
  await expect(act(deps, verb, input as never)).rejects.toThrow(words)
})
