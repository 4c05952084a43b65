/** kill -9 between a click and its page: the act happened once or not at all, the log of acts says which, and the same form sent again makes no second. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { type Browser, type Form, findForm } from '../signin/browser.ts'
import { openSigninGateway, type SigninGateway } from '../signin/signin-gateway.ts'
import { enter } from './enter.ts'

/** An owner invites once in each: fifty a day is the most. */
const ROUNDS = FULL ? 50 : 2
const ANN = 'ann@example.org'

let setup: SigninGateway
let browser: Browser

beforeAll(async () => {
  setup = await openSigninGateway({ GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' })
  browser = await enter(setup, ANN)
})
afterAll(() => setup?.close())

/** What a round has of its own, so that nothing of another is taken for it. */
interface Things {
  readonly round: number
  /** Ids of keys that were made for the round. */
  readonly changed: string
  readonly rotated: string
  readonly revoked: string
  /** The label of the one to rotate, as it was. */
  readonly label: string
  /** Ids of people: one to remove, and one whose role is changed. */
  readonly removed: string
  readonly promoted: string
}

/** One form of a page. */
interface Click {
  /** Of its act; no two have the same, so that the log tells them apart. */
  readonly verb: string
  path(things: Things): string
  /** Of the form's action. */
  ending(things: Things): string
  fields(things: Things): Readonly<Record<string, string>>
  /** Whether what is stored now is what the form asks for. */
  happened(things: Things): Promise<boolean>
}

const verb: SigninGateway['appliance']['verb'] = (name, input) => setup.appliance.verb(name, input)

const keyNamed = async (name: string): Promise<string | undefined> =>
  (await verb('keys.list', {})).find((key) => key.name === name)?.id
const memberOf = async (text: string) =>
  (await verb('accounts.members.list', {})).find(({ id, email }) => text === id || text === email)
const made = ({ round }: Things): string => `made ${round}`
const invited = ({ round }: Things): string => `invited-${round}@example.org`
const told = ({ round }: Things): string => `ops-${round}@example.org`
/** Another amount in each round. */
const amount = ({ round }: Things): string => `${round + 1}.5`

const CLICKS: Readonly<Record<string, Click>> = {
  'make a key': {
    verb: 'keys.create',
    path: () => '/cabinet/keys/new',
    ending: () => '/keys/new',
    fields: (things) => ({ name: made(things), rpm_limit: '5' }),
    happened: async (things) => (await keyNamed(made(things))) !== undefined,
  },
  'rotate a key': {
    verb: 'keys.rotate',
    path: ({ rotated }) => `/cabinet/keys/${rotated}`,
    ending: () => '/rotate',
    fields: () => ({ grace: '3600' }),
    happened: async ({ rotated, label }) =>
      (await verb('keys.show', { key: rotated })).label !== label,
  },
  'revoke a key': {
    verb: 'keys.revoke',
    path: ({ revoked }) => `/cabinet/keys/${revoked}/revoke`,
    ending: () => '/revoke',
    fields: () => ({}),
    happened: async ({ revoked }) =>
      (await verb('keys.show', { key: revoked })).status === 'revoked',
  },
  'change limits': {
    verb: 'limits.set',
    path: ({ changed }) => `/cabinet/keys/${changed}`,
    ending: () => '/limits',
    fields: () => ({ rpm_limit: '7', allowed_models: 'demo/*' }),
    happened: async ({ changed }) => (await verb('keys.show', { key: changed })).rpm_limit === 7,
  },
  'disable a key': {
    verb: 'keys.edit',
    path: ({ changed }) => `/cabinet/keys/${changed}`,
    ending: () => '/disabled',
    fields: () => ({}),
    happened: async ({ changed }) =>
      (await verb('keys.show', { key: changed })).status === 'disabled',
  },
  'set the threshold': {
    verb: 'thresholds.set',
    path: () => '/cabinet/balance',
    ending: () => '/threshold',
    // The amount itself may be changed ten times a day.
    fields: (things) => ({ below: '1.5', email: told(things) }),
    happened: async (things) => (await verb('thresholds.show', {})).email === told(things),
  },
  'set what members may spend': {
    verb: 'accounts.edit',
    path: () => '/cabinet/people',
    ending: () => '/allowance',
    fields: (things) => ({ member_daily: amount(things) }),
    happened: async (things) =>
      Number((await verb('accounts.show', { name: 'default' })).member_daily_usd) ===
      Number(amount(things)),
  },
  invite: {
    verb: 'accounts.members.invite',
    path: () => '/cabinet/people',
    ending: () => '/people',
    fields: (things) => ({ email: invited(things), role: 'viewer' }),
    happened: async (things) => (await memberOf(invited(things))) !== undefined,
  },
  'change a role': {
    verb: 'accounts.members.set-role',
    path: () => '/cabinet/people',
    ending: ({ promoted }) => `/${promoted}/role`,
    fields: () => ({ role: 'owner' }),
    happened: async ({ promoted }) => (await memberOf(promoted))?.role === 'owner',
  },
  'remove a member': {
    verb: 'accounts.members.remove',
    path: ({ removed }) => `/cabinet/people/${removed}/remove`,
    ending: () => '/remove',
    fields: () => ({}),
    happened: async ({ removed }) => (await memberOf(removed)) === undefined,
  },
}

async function furnish(round: number): Promise<Things> {
  const keyOf = (name: string) => verb('keys.create', { name: `${name} ${round}` })
  const memberIn = async (name: string): Promise<string> => {
    const email = `${name}-${round}@example.org`
    return (await verb('accounts.members.add', { email, role: 'viewer' })).id
  }
  const { id: rotated, label } = await keyOf('rotated')
  return {
    round,
    changed: (await keyOf('changed')).id,
    rotated,
    label,
    revoked: (await keyOf('revoked')).id,
    removed: await memberIn('removed'),
    promoted: await memberIn('promoted'),
  }
}

/** As a page of this moment has it. */
async function formOf(click: Click, things: Things): Promise<Form> {
  const page = await browser.open(click.path(things))
  const { action, hidden } = findForm(page, click.ending(things))
  return { action, hidden: { ...hidden, ...click.fields(things) } }
}

/** The status of its answer; null where there came none. */
async function send({ action, hidden }: Form): Promise<number | null> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  try {
    const answer = await fetch(new URL(action, setup.authUrl), {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie,
        origin: setup.authUrl,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(hidden),
    })
    return answer.status
  } catch {
    return null
  }
}

/** How often Ann did each of them, by the command that an operator types. */
function countActs(): ReadonlyMap<string, number> {
  const acts = setup.cli.json<{ readonly who: string; readonly verb: string }[]>([
    ...['activity', 'list', '--admin', '--limit', '10000'],
  ])
  const hers = Map.groupBy(
    acts.filter(({ who }) => who.startsWith(`${ANN} (`)),
    (act) => act.verb,
  )
  return new Map(
    Object.entries(CLICKS).map(([name, click]) => [name, hers.get(click.verb)?.length ?? 0]),
  )
}

test(`killed ${ROUNDS} times between clicks and their pages, each happened once or not at all`, {
  timeout: 600_000,
}, async () => {
  let unanswered = 0
  let unseen = 0
  let tookMs = 0
  const names = Object.keys(CLICKS)
  for (let round = 0; round < ROUNDS; round++) {
    const things = await furnish(round)
    const forms: Form[] = []
    for (const click of Object.values(CLICKS)) forms.push(await formOf(click, things))
    const before = countActs()
    /** Whether each has happened by now; as often as the log of acts has it. */
    const look = async (): Promise<readonly boolean[]> => {
      const after = countActs()
      const found: boolean[] = []
      for (const [name, click] of Object.entries(CLICKS)) {
        const did = await click.happened(things)
        const times = (after.get(name) ?? 0) - (before.get(name) ?? 0)
        expect([round, name, times]).toEqual([round, name, did ? 1 : 0])
        found.push(did)
      }
      return found
    }

    const answers = forms.map(send)
    // From the first instant on to the last answer: at the end nothing is cut off.
    const untilMs = (tookMs * round) / (ROUNDS - 1)
    if (round === ROUNDS - 1) await Promise.all(answers)
    else await Promise.race([Bun.sleep(untilMs), Promise.all(answers)])
    await setup.appliance.kill()
    const statuses = await Promise.all(answers)
    await setup.killAndRestart()

    const first = await look()
    for (const [place, status] of statuses.entries()) {
      const shown = [round, names[place], status, first[place]]
      if (status !== null) expect(shown).toEqual([round, names[place], 303, true])
      if (status === null) unanswered++
      if (status === null && first[place]) unseen++
    }

    // Sent again, and once more, as by a browser that opens its tabs again.
    const begunMs = performance.now()
    for (const form of forms) await send(form)
    tookMs = performance.now() - begunMs
    for (const form of forms) await send(form)
    for (const [place, did] of (await look()).entries()) {
      if (first[place]) expect([round, names[place], did]).toEqual([round, names[place], true])
    }
  }
  process.stdout.write(
    `cabinet: ${unanswered} clicks were not answered; ${unseen} of them had happened\n`,
  )
  // The first round cuts every answer off: otherwise nothing was tried.
  expect(unanswered).toBeGreaterThan(0)
  expect(setup.cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
})
