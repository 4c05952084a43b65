/** What a person signs in with instead of a code: their passkeys, of which the browser adds one, and they remove any. */
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { passkeyForm } from '#pages/passkeys.ts'
import { CABINET_ID } from '#signin/register/client.ts'
import type { Act } from '../draw/on-page.ts'
import { button, foreign, table, time } from '../draw/parts.ts'
import { goTo } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'

type Owned = VerbRecord<'users.show'>['passkeys']

/** The list is there as long as there are any; to add one takes a browser that has passkeys. */
export async function passkeysOf(visit: Visit, passkeys: Owned): Promise<Html> {
  const { words, deps } = visit
  if (deps.passkeys === null && passkeys.length === 0) return html``
  return html`<h2>${words.you.passkeys}</h2>
${passkeys.length > 0 ? tableOf(visit, passkeys) : html`<p class="note">${words.you.noPasskeys}</p>`}
${await additionOf(visit)}`
}

async function additionOf({ words, deps, session, account, person }: Visit): Promise<Html> {
  if (deps.passkeys === null) return html``
  const form = passkeyForm({
    form: {
      action: '/cabinet/you/passkeys',
      hidden: { csrf: session.csrf, account: account.id },
    },
    options: await deps.passkeys.offer(session.digest, person),
    does: 'add',
    label: words.you.addPasskey,
    style: '',
    failed: words.you.passkeyEndings.refused,
    known: words.you.passkeyEndings.known,
  })
  return html`<div class="acts">${form}</div>`
}

const tableOf = (visit: Visit, passkeys: Owned): Html => {
  const { words } = visit
  return table(
    words.you.passkeys,
    [
      { title: words.you.passkey, cell: ({ name }) => foreign(name) },
      { title: words.you.made, cell: ({ created_at }) => time(visit, created_at) },
      { title: words.you.used, cell: ({ last_used_at }) => time(visit, last_used_at) },
      {
        title: `(${words.change})`,
        cell: ({ id }) =>
          button(visit, '/cabinet/you/passkeys/remove', words.you.removePasskey, {
            hidden: { passkey: id },
          }),
      },
    ],
    passkeys,
  )
}

/** How it ended, above the page that it leads back to. */
const ENDINGS = ['added', 'removed', 'refused', 'known', 'too_many'] as const
type Ending = (typeof ENDINGS)[number]

const backTo = (ending: Ending) => goTo(hrefOf('/cabinet/you', { passkey: ending }))

export function saidOfPasskey({ words, url }: Visit): Html | null {
  const ending = ENDINGS.find((one) => one === url.searchParams.get('passkey'))
  if (ending === undefined) return null
  return ending === 'added' || ending === 'removed'
    ? html`<p class="good" role="status">${words.you.passkeyEndings[ending]}</p>`
    : html`<p class="problem" role="alert">${words.you.passkeyEndings[ending]}</p>`
}

export const addPasskey: Act = async (visit) => {
  const { deps, request, form, session, person, address } = visit
  if (deps.passkeys === null) return backTo('refused')
  const added = await deps.passkeys.add({
    holder: session.digest,
    person,
    response: form.get('response') ?? '',
    agent: request.headers.get('user-agent'),
    clientId: CABINET_ID,
    address,
    revocations: session.revocations,
  })
  return backTo(added === 'gone' || added === 'revoked' ? 'refused' : added)
}

export const removePasskey: Act = async ({ act, form, person }) => {
  await act('users.passkeys.remove', { person: person.id, passkey: form.get('passkey') ?? '' })
  return backTo('removed')
}
