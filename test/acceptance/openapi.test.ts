/** The document of the shipped program: the same by `help` and over HTTP, and true of whatever real providers have said. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { type Holder, hear, holdTo } from '#test/support/openapi.ts'
import { recordings } from '#test/support/replay.ts'
import project from '../../package.json' with { type: 'json' }
import {
  type Case,
  openReplayGateway,
  type ReplayGateway,
  toBody,
} from './recordings/replay-gateway.ts'
import { draws, truthOf } from './recordings/truth.ts'

describe('help openapi', () => {
  let cli: CliHarness
  let gateway: Appliance
  beforeAll(async () => {
    cli = furnishCli(openCli())
    gateway = await startAppliance(cli)
  })
  afterAll(async () => {
    await gateway?.kill()
    cli?.close()
  })

  test('prints what is served, with the version of the program', async () => {
    const answer = await fetch(`${gateway.url}/openapi.json`)
    const { code, out, err } = cli.run(['help', 'openapi'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const document = JSON.parse(out)
    expect(await answer.json()).toEqual(document)
    expect(document).toMatchObject({ openapi: '3.1.1', info: { version: project.version } })
  })
})

const cases: readonly Case[] = recordings().map((recording, place) => ({
  recording,
  dress: '',
  provider: `r${place}`,
  isByPiece: draws(recording),
  truth: truthOf(recording),
}))

describe.skipIf(cases.length === 0)('recorded traffic', () => {
  let setup: ReplayGateway | undefined
  let holder: Holder
  beforeAll(async () => {
    setup = await openReplayGateway(cases)
    const { url = '' } = setup?.gateway ?? {}
    holder = holdTo(await (await fetch(`${url}/openapi.json`)).json())
  })
  afterAll(() => setup?.close())

  test.each(cases.map((one) => [one.recording.name, one] as const))(
    '%s comes out as the document tells it',
    async (_, one) => {
      if (!setup) throw new Error('the gateway was not started')
      const { gateway, key } = setup
      const answer = await gateway.chat(key, toBody(one))
      holder.hold('POST', '/v1/chat/completions', await hear(answer))
      const path = `/v1/generation?id=${answer.headers.get('x-generation-id')}`
      const receipt = await fetch(gateway.url + path, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(receipt.status).toBe(200)
      holder.hold('GET', path, await hear(receipt))
    },
  )
})
