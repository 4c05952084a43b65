/** docs/keys.md says what to paste: pasted, each call answers what the page says. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { typedIn } from './documented/pages.ts'
import { type KeyGateway, openKeyGateway } from './keys/key-gateway.ts'

let setup: KeyGateway
beforeAll(async () => {
  setup = await openKeyGateway()
})
afterAll(() => setup?.close())

const blocks = typedIn('docs/keys.md').map(({ text }) => text)

/** The program is `gatewayctl` here, and `jq` need not be installed. */
const preamble = (): string => `
  gatewayctl() { ${BINARY} "$@"; }
  jq() { '${process.execPath}' -e 'console.log((await Bun.stdin.json())[process.argv[1].slice(1)])' -- "$2"; }
`

/** Beside this process, whose balancer it may call. */
async function paste(script: string): Promise<string> {
  const child = Bun.spawn(['bash', '-eu', '-c', preamble() + script], {
    cwd: setup.cli.home,
    env: { ...setup.cli.env },
    stderr: 'pipe',
  })
  const [out, said, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  expect([code, said.replaceAll(/^(✓|next:| ).*\n|^\n/gm, '')]).toEqual([0, ''])
  return out
}

test('the calls, from the first to the last', async () => {
  expect(blocks).toHaveLength(3)
  const [create = '', calls = ''] = blocks
  const here = calls.replace('http://127.0.0.1:4140', setup.gateway.url)
  const out = await paste(
    `${create}\n${here.replaceAll(/(?<=^|\n)(curl [^#]*?[^\\])(?=\n)/g, '$1; echo')}\necho "$MADE"`,
  )
  const [list, shown, amended, stopped, started, revoked, info, made] = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(made).toMatchObject({ name: 'worker', rpm_limit: 60, expires_at: '2099-12-31T00:00:00Z' })
  expect(made.warnings).toBeUndefined()
  expect(list).toMatchObject({ object: 'list', first_id: made.id })
  expect(shown).toMatchObject({ id: made.id, status: 'active', daily_spend_limit_usd: '5.00' })
  expect(amended).toMatchObject({
    rpm_limit: 120,
    daily_spend_limit_usd: null,
    concurrency_limit: 4,
  })
  expect([stopped.status, started.status]).toEqual(['disabled', 'active'])
  expect(revoked).toEqual({ id: made.id, object: 'api_key.deleted', deleted: true })
  expect(info).toMatchObject({ object: 'key_info', kind: 'provisioning' })
})

test('the rotations', async () => {
  const { key } = await setup.gateway.verb('keys.create', { name: 'prod-web' })
  const statusOf = async (secret: string) =>
    (await setup.ask('GET', '/v1/key', { key: secret })).status
  const [first = '', second = ''] = (blocks[2] ?? '').trim().split('\n')
  const renewed = (await paste(`${first}\necho "$NEW"`)).trim()
  expect([await statusOf(key), await statusOf(renewed)]).toEqual([200, 200])
  const last = (await paste(second)).trim()
  expect([await statusOf(key), await statusOf(renewed), await statusOf(last)]).toEqual([
    401, 401, 200,
  ])
})
