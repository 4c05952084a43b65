/** What an attacker gets out of `/v1/keys` by headers, addresses and other people's words: nothing (traps T1, T2, T3, T4, T5, T8, T11). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase, until } from '#test/support/appliance.ts'
import { dial } from '#test/support/raw-client.ts'
import { type KeyGateway, openKeyGateway } from './keys/key-gateway.ts'

let setup: KeyGateway
beforeAll(async () => {
  setup = await openKeyGateway()
})
afterAll(() => setup?.close())

describe('an attacker', () => {
  const keyRows = () => readDatabase<object>(setup.cli, 'SELECT * FROM keys ORDER BY id')

  /** One request as raw text; answers its status and code. */
  const send = async (lines: readonly string[], body = '') => {
    const client = dial(setup.gateway.url)
    client.send(
      `${[...lines, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`,
    )
    await until(() => client.closed, 'an answer comes')
    setup.answers.push(client.received)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(client.received)?.[1] ?? 0)
    return [status, /"code":"(\w+)"/.exec(client.received)?.[1] ?? null]
  }

  test('T1, T2, T11: gets nowhere by what is in the Authorization header', async () => {
    const { admin } = setup
    const before = keyRows()
    for (const token of [
      "' OR '1'='1' --",
      "if-'; DROP TABLE keys; --",
      `if-${"'".repeat(49)}`,
      admin.slice(0, -1),
      `${admin}0`,
      admin.slice(0, 20),
      admin.toLowerCase(),
      Bun.SHA256.hash(admin, 'hex'),
      Bun.SHA256.hash(admin, 'base64'),
      `if-${'A'.repeat(12_000)}`,
      `${admin}, Bearer ${admin}`,
    ]) {
      for (const method of ['GET', 'POST']) {
        const head = [`${method} /v1/keys HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`]
        expect(await send(head)).toEqual([401, 'invalid_api_key'])
      }
    }
    // Too much for a header at all, and a byte that none may hold.
    const huge = [
      'GET /v1/keys HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${'A'.repeat(1_000_000)}`,
    ]
    expect((await send(huge))[0]).toBe(431)
    const nul = ['GET /v1/keys HTTP/1.1', 'Host: a', 'Authorization: Bearer if-\0']
    expect((await send(nul))[0]).toBe(400)
    expect(keyRows()).toEqual(before)
  })

  test('T3, T5, T41: is not routed by a Host, an absolute form or an encoded slash', async () => {
    const { admin } = setup
    const before = keyRows()
    const { id } = await setup.mint({ name: 'target' })
    const bearer = `Authorization: Bearer ${admin}`
    for (const [line, host, expected] of [
      ['GET http://evil.example/v1/keys', ['Host: evil.example'], [401, 'missing_api_key']],
      [`DELETE http://evil.example/v1/keys/${id}`, ['Host: a'], [401, 'missing_api_key']],
      ['GET /v1/keys', ['Host: a', 'Host: b', bearer], [400, 'invalid_request']],
      ['GET /v1/keys', ['Host: a b', bearer], [400, 'invalid_request']],
      [`DELETE /v1%2fkeys/${id}`, ['Host: a', bearer], [404, 'route_not_found']],
      [`DELETE /v1/keys%2f${id}`, ['Host: a', bearer], [404, 'route_not_found']],
      [`DELETE /v1/keys/..%2f${id}`, ['Host: a', bearer], [404, 'key_not_found']],
      [`DELETE /v1/models/../keys/${id}`, ['Host: a'], [401, 'missing_api_key']],
      ['GET /v1/keys', ['Host: a', `X-Api-Key: ${admin}`], [401, 'missing_api_key']],
      [`GET /v1/keys?key=${admin}`, ['Host: a', `Cookie: key=${admin}`], [401, 'missing_api_key']],
    ] as const) {
      expect([line, await send([`${line} HTTP/1.1`, ...host])]).toEqual([line, expected])
    }
    expect((await setup.ask('GET', `/v1/keys/${id}`)).body.status).toBe('active')
    expect(keyRows()).toHaveLength(before.length + 1)
  })

  test('T3, T5, T41: gets no further by slashes too many, at the end or encoded', async () => {
    const { admin, rival } = setup
    const { id, key } = await setup.mint({ name: 'slashed' })
    // When a key was last used is noted whatever it asked for.
    const rows = () => keyRows().map((row) => ({ ...row, last_used_at: null }))
    const before = rows()
    const wrongKind = [403, 'provisioning_key_required']
    const noChat = [403, 'provisioning_key_not_allowed']
    const [none, unknown] = [
      [404, 'route_not_found'],
      [404, 'key_not_found'],
    ]
    const [missing, invalid] = [
      [401, 'missing_api_key'],
      [401, 'invalid_api_key'],
    ]
    const of = (secret: string) => [`Authorization: Bearer ${secret}`]
    for (const [line, expected, bearer = of(key)] of [
      ['GET //v1/keys', wrongKind],
      ['GET /v1/keys/', wrongKind],
      ['GET /v1//keys//', wrongKind],
      [`GET /v1/keys//${id}`, wrongKind],
      [`PATCH //v1//keys/${id}/`, wrongKind],
      ['POST ///v1/keys', wrongKind],
      [`DELETE //v1/keys/${id}`, wrongKind],
      [`DELETE /v1/keys/${id}/`, wrongKind],
      [`DELETE //v1/keys/${id}`, missing, []],
      [`DELETE /v1/keys/${id}//`, missing, ['X-Api-Key: a']],
      [`DELETE //v1/keys/${id}`, invalid, of(`${admin}0`)],
      ['POST //v1/chat/completions', noChat, of(admin)],
      ['POST /v1/chat/completions/', noChat, of(admin)],
      ['GET /v1/%2Fkeys', none, of(admin)],
      ['GET /%2Fv1/keys', none, of(admin)],
      ['GET /v1%252fkeys', none, of(admin)],
      [`DELETE /v1/keys/%2F${id}`, unknown, of(admin)],
      [`DELETE /v1/keys/${id}%2F`, unknown, of(admin)],
      [`DELETE //v1/keys/${id}%2f`, unknown, of(admin)],
      [`DELETE /v1/keys/%2F${id}/`, wrongKind],
      [`DELETE //v1/keys/${id}/`, unknown, of(rival)],
    ] as const) {
      const sent = await send([`${line} HTTP/1.1`, 'Host: a', ...bearer], '{}')
      expect([line, bearer.length, sent]).toEqual([line, bearer.length, expected])
    }
    expect(rows()).toEqual(before)
    // With the right key a slash too many changes nothing (contract §2).
    expect(await send([`DELETE //v1/keys/${id}/ HTTP/1.1`, 'Host: a', ...of(admin)])).toEqual([
      200,
      null,
    ])
    expect((await setup.ask('GET', `/v1/keys/${id}`)).body.status).toBe('revoked')
  })

  test('T8: finds no secret in any answer, log or file', async () => {
    await setup.ask('GET', '/v1/keys')
    await setup.expectNoSecret()
  })
})
