/** Clients with a base URL, a path or a model that is not quite right: they are served, or told what is. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance
let key = ''

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'k', allowed_models: ['demo/*'] })).key
})
afterAll(() => gateway?.stop())

const call = (method: string, path: string, body?: object, bearer = key) =>
  fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'one two' }] }

async function refusal(response: Promise<Response>) {
  const { status, ...rest } = await response
  const { error } = (await (await response).json()) as { error: { code: string; message: string } }
  return { status: (await response).status, ...rest, ...error }
}

describe('a slash too many changes nothing', () => {
  test.each([
    '/v1/chat/completions/',
    '/v1//chat/completions',
    '//v1/chat/completions',
    '/api/v1//chat//completions//',
    '/v1/chat/completions/?trace=1',
  ])('POST %s', async (path) => {
    const whole = await call('POST', path, hello)
    expect(whole.status).toBe(200)
    expect(await whole.json()).toMatchObject({ choices: [{ message: { content: 'one two' } }] })
    const stream = await (await call('POST', path, { ...hello, stream: true })).text()
    expect(stream).toMatch(/data: \[DONE\]\n\n$/)
  })

  test.each([
    ['//v1/models', { object: 'list' }],
    ['/v1/models/', { object: 'list' }],
    ['/v1//models/demo/echo', { id: 'demo/echo' }],
    ['/v1//models/demo%2Fecho/', { id: 'demo/echo' }],
    ['/v1/key/', { object: 'key_info' }],
  ])('GET %s', async (path, expected) => {
    const response = await call('GET', path)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject(expected)
  })

  test('the query is kept', async () => {
    const response = await call('GET', '//v1/models/?output_modalities=image')
    const { data } = (await response.json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['demo/image'])
  })

  test('and opens no other door', async () => {
    expect(await refusal(call('GET', '//v1/keys/'))).toMatchObject({ status: 403 })
    expect(await refusal(call('GET', '/v1//key', undefined, 'if-no'))).toMatchObject({
      status: 401,
    })
    expect(await refusal(call('PUT', '/v1/models/'))).toMatchObject({ status: 405 })
  })
})

describe('an address where nothing is', () => {
  const SERVED = /served are POST \/v1\/chat\/completions, .*GET \/v1\/models, GET \/v1\/key,/

  test.each([
    ['/v1/batches', 'send each request by itself'],
    ['/v1/audio/speech', 'sound is not served'],
    ['/v1/moderations', 'moderation is not served'],
    ['/v1/completions', 'send it as a message to POST /v1/chat/completions'],
    ['/v1/images/generations', 'with "modalities" containing "image"'],
    ['/chat/completions', 'did you mean /v1/chat/completions?'],
    ['/v1/v1/chat/completions', 'did you mean /v1/chat/completions?'],
    ['/v1/chat/completion', 'did you mean /v1/chat/completions?'],
    ['/v1/model', 'did you mean /v1/models?'],
    ['/nothing', 'GET /openapi.json describes them'],
  ])('%s says what is served: %s', async (path, words) => {
    const { status, code, message } = await refusal(call('POST', path, hello))
    expect({ status, code }).toEqual({ status: 404, code: 'route_not_found' })
    expect(message).toContain(words)
    expect(message).toMatch(SERVED)
    expect(message.split('did you mean').length).toBeLessThanOrEqual(2)
  })

  test('W32: images: each of the three addresses names what draws, to whatever a client sends there', async () => {
    const client = gateway.client(key)
    const image = new File([Buffer.from('PNG')], 'a.png', { type: 'image/png' })
    const prompt = 'a fox'
    const form = new FormData()
    form.append('image[]', image)
    form.append('image[]', image)
    form.append('prompt', prompt)
    const headers = { authorization: `Bearer ${key}` }
    const asked = [
      client.images.generate({ model: 'demo/image', prompt }),
      client.images.edit({ model: 'demo/image', prompt, image }),
      client.images.edit({ model: 'demo/image', prompt, image: [image, image], mask: image }),
      client.images.createVariation({ image }),
    ].map((asking) => asking.then(() => null).catch(({ status, error }) => ({ status, ...error })))
    const plain = ['generations', 'edits', 'variations'].map((operation) =>
      refusal(
        fetch(`${gateway.url}/v1/images/${operation}`, { method: 'POST', headers, body: form }),
      ),
    )
    for (const answer of await Promise.all<object | null>([...asked, ...plain])) {
      expect(answer).toMatchObject({
        status: 404,
        code: 'route_not_found',
        message: expect.stringMatching(
          /images are made by POST \/v1\/chat\/completions with "modalities" containing "image"/,
        ),
      })
    }
  })

  test('is in the log by method and path, bounded, without query and secrets', async () => {
    const secret = `if-${'a'.repeat(49)}`
    await call('PATCH', `/v9/${secret}/?token=hidden`)
    await call('POST', `/v9/long/${'x'.repeat(4_000)}`)
    await until(() => gateway.said().includes('/v9/long'), 'both are logged')
    const lines = gateway
      .said()
      .split('\n')
      .filter((line) => line.includes('/v9/'))
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { route: 'unknown', method: 'PATCH', path: '/v9/[struck out]', status: 404 },
      { route: 'unknown', method: 'POST', status: 404 },
    ])
    expect(lines[1].path).toHaveLength(200)
    expect(gateway.said()).not.toMatch(/hidden|aaaaaaaaaa/)
  })

  test('of any other request the log has no path', async () => {
    await call('GET', '/v1/models')
    const other = gateway
      .said()
      .split('\n')
      .filter((line) => line.includes('"route":"models"'))
    expect(other.join()).not.toContain('"path"')
  })
})

describe('a model that is none', () => {
  test('without a provider: what an id looks like, and the near ones that the key may call', async () => {
    for (const answer of [
      call('POST', '/v1/chat/completions', { ...hello, model: 'ech' }),
      call('GET', '/v1/models/ech'),
    ]) {
      const { status, code, message } = await refusal(answer)
      expect({ status, code }).toEqual({ status: 403, code: 'model_not_allowed' })
      expect(message).toContain('the id of a model is <provider>/<model>; did you mean demo/echo?')
    }
  })

  test('for a key without a list it is not found, in the same words', async () => {
    const { key: free } = await gateway.verb('keys.create', { name: 'free' })
    const { status, message } = await refusal(
      call('POST', '/v1/chat/completions', { ...hello, model: 'ech' }, free),
    )
    expect(status).toBe(404)
    expect(message).toContain('the id of a model is <provider>/<model>; did you mean demo/echo?')
  })

  test('a key hears nothing of models that it may not call', async () => {
    const { key: poor } = await gateway.verb('keys.create', {
      name: 'poor',
      allowed_models: ['demo/image'],
    })
    const { message } = await refusal(
      call('POST', '/v1/chat/completions', { ...hello, model: 'echo' }, poor),
    )
    expect(message).not.toContain('demo/echo')
  })
})
