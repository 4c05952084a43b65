/** What a person signs in with at third parties: linked by signing in there, from here; and unlinked. */
import { GatewayError } from '#domain/errors.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { digestOf } from '#signin/register/digest.ts'
import { onwardFrame } from '../draw/frame.ts'
import type { Act, Show } from '../draw/on-page.ts'
import { button, foreign, table, time } from '../draw/parts.ts'
import { goTo, pageOf } from '../respond.ts'
import type { Session } from '../session.ts'
import { hrefOf, type Visit } from '../visit.ts'

type Linked = VerbRecord<'users.show'>['identities'][number]

export async function identitiesOf(visit: Visit, linked: readonly Linked[]): Promise<Html> {
  const { words, operator } = visit
  const all = await operator.store.signin.identityProviders.list()
  const open = all.filter(({ name }) => !linked.some(({ provider }) => provider === name))
  return html`<h2>${words.you.identities}</h2>
${linked.length > 0 ? tableOf(visit, linked) : html`<p class="note">${all.length > 0 ? words.you.noIdentities : words.you.noProviders}</p>`}
${
  open.length > 0 &&
  html`<div class="acts">${open.map(({ name, label }) =>
    button(visit, '/cabinet/you/link', words.you.link(label), {
      hidden: { provider: name },
      isWhole: true,
    }),
  )}</div>`
}`
}

const tableOf = (visit: Visit, linked: readonly Linked[]): Html => {
  const { words } = visit
  return table(
    words.you.identities,
    [
      { title: words.you.provider, cell: ({ label }) => foreign(label) },
      {
        title: words.you.name,
        cell: ({ name, subject }) => foreign(name ?? subject),
      },
      { title: words.you.linkedAt, cell: ({ linked_at }) => time(visit, linked_at) },
      { title: words.you.seen, cell: ({ last_used_at }) => time(visit, last_used_at) },
      {
        title: `(${words.change})`,
        cell: ({ provider }) =>
          button(visit, '/cabinet/you/identities', words.you.unlink, { hidden: { provider } }),
      },
    ],
    linked,
  )
}

/** How it ended, above the page that it leads back to. */
const ENDINGS = ['linked', 'unlinked', 'refused', 'taken', 'unreachable'] as const
type Ending = (typeof ENDINGS)[number]

const backTo = (ending: Ending) => goTo(hrefOf('/cabinet/you', { link: ending }))

export function saidOfLink({ words, url }: Visit): Html | null {
  const ending = ENDINGS.find((one) => one === url.searchParams.get('link'))
  if (ending === undefined) return null
  return ending === 'linked' || ending === 'unlinked'
    ? html`<p class="good" role="status">${words.you.endings[ending]}</p>`
    : html`<p class="problem" role="alert">${words.you.endings[ending]}</p>`
}

const PREFIX = 'cabinet-'

/**
 * The first part of the state: the answer to a login that this session began is of no use in another, so that nobody is made to
 * link what somebody else is.
 */
const uidOf = ({ digest }: Session): string => PREFIX + digestOf(`link ${digest}`).slice(0, 32)

/** To the third party, by a page of our own: forms may end only here. */
export const linkIdentity: Act = async (visit) => {
  const { deps, form, session, language, words } = visit
  const to = await deps.thirdParties.send(form.get('provider') ?? '', uidOf(session))
  if (to === null) return backTo('unreachable')
  return await pageOf(deps, onwardFrame(deps, language, words, to), { language })
}

/** The third party's answer to a login that was begun here, at the address that it knows; null for one of the sign-in provider. */
export function linkPathOf({ pathname, searchParams, search }: URL): string | null {
  const name = /^\/identity\/([a-z0-9-]+)\/callback$/.exec(pathname)?.[1]
  const isOurs = name !== undefined && searchParams.get('state')?.startsWith(PREFIX)
  return isOurs ? `/cabinet/you/link/${name}${search}` : null
}

export const completeLink: Show = async (visit) => {
  const { deps, act, named, person, session, url } = visit
  const provider = named['provider'] ?? ''
  const claims = await deps.thirdParties.receive(provider, uidOf(session), url.searchParams)
  if (claims === null) return backTo('refused')
  try {
    await act('users.identities.add', { person: person.id, provider, ...claims })
    return backTo('linked')
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== 'already_exists') throw thrown
    return backTo('taken')
  }
}

export const unlinkIdentity: Act = async ({ act, form, person }) => {
  await act('users.identities.remove', { person: person.id, provider: form.get('provider') ?? '' })
  return backTo('unlinked')
}
