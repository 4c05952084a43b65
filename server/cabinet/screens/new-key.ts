/** A new key: its form, and the page that shows its secret once. */
import type { GatewayError } from '#domain/errors.ts'
import type { AllowList } from '#domain/key.ts'
import { renderUsd } from '#domain/money.ts'
import { allowanceOf } from '#operator/allowance.ts'
import { type Html, html } from '#pages/html.ts'
import { type Act, refusedOnPage, type Show } from '../draw/on-page.ts'
import { changing, field, type Sheet } from '../draw/parts.ts'
import { newToken } from '../once.ts'
import { goTo } from '../respond.ts'
import type { Visit } from '../visit.ts'
import { sentenceOf } from './failure.ts'
import { twinOf } from './key.ts'
import { drawLimits, readLimits } from './limit-fields.ts'
import { drawSnippets } from './snippets.ts'

export const showNewKey: Show = async (visit) => drawForm(visit, null)

function drawForm(visit: Visit, problem: GatewayError | null): Sheet {
  const { words, form, role } = visit
  const filled = (name: string): string =>
    form.get(name) ?? (isMembers(name) ? allowance(visit) : '')
  const isMembers = (name: string): boolean => role === 'member' && name === 'daily_spend_limit_usd'
  return {
    title: words.keys.createTitle,
    ...(problem !== null && { status: problem.status }),
    content: html`<p class="crumb"><a href="/cabinet/keys">${words.keys.title}</a></p>
<h1>${words.keys.createTitle}</h1>
${problem !== null && html`<p class="problem" role="alert">${sentenceOf(visit, problem)}</p>`}
${changing(
  visit,
  '/cabinet/keys/new',
  html`<input type="hidden" name="once" value="${newToken()}">
<div class="fields">
${field('name', words.keys.name, { value: form.get('name') ?? '', hint: words.keys.nameHint, attributes: html` required maxlength="128" autocomplete="off" autofocus` })}
${field('note', words.keys.note, { value: form.get('note') ?? '', attributes: html` maxlength="1000" autocomplete="off"` })}
</div>
<h2>${words.keys.limits}</h2>
<p class="note">${role === 'member' ? words.keys.memberHint(allowance(visit)) : words.keys.limitsHint}</p>
${drawLimits(visit, filled)}
<div class="acts"><button class="lead-button" type="submit">${words.keys.createButton}</button></div>`,
)}`,
  }
}

const allowance = ({ account }: Visit): string => renderUsd(allowanceOf(account))

export const createKey: Act = async (visit, once) => {
  const { form, act, account } = visit
  try {
    const address = await once.run(visit, async () => {
      const { note } = { note: (form.get('note') ?? '').trim() }
      const issued = await act('keys.create', {
        ...readLimits(form),
        account: account.id,
        name: form.get('name') ?? '',
        ...(note !== '' && { note }),
      })
      await once.reveal(visit, issued.id, issued.key)
      return `/cabinet/keys/${issued.id}/secret`
    })
    return goTo(address ?? '/cabinet/keys?sent=before')
  } catch (thrown) {
    return await refusedOnPage(visit, thrown, ['invalid_request'], (problem) =>
      drawForm(visit, problem),
    )
  }
}

export const showSecret: Show = async (visit, once) => {
  const { words, act, account, named } = visit
  const key = await act('keys.show', { key: named['key'] ?? '', account: account.id })
  const secret = await once.take(visit, key.id)
  return {
    title: words.keys.secretTitle(key.name),
    ...(secret === null && { status: 410 }),
    content: html`<p class="crumb"><a href="/cabinet/keys">${words.keys.title}</a> / <a href="/cabinet/keys/${key.id}"><bdi>${key.name}</bdi></a></p>
<h1>${words.keys.secretTitle(key.name)}</h1>
${secret === null ? html`<p class="note">${words.keys.secretGone}</p>` : secretOf(visit, secret, key.allowed_models)}
${await twinOf(visit, key)}
<div class="acts"><a class="button" href="/cabinet/keys/${key.id}">${words.keys.toKey}</a></div>`,
  }
}

const secretOf = (visit: Visit, secret: string, masks: AllowList): Html => {
  const { keys: words } = visit.words
  return html`<p class="good" role="status">${words.secretOnce}</p>
<div class="secret"><code id="secret">${secret}</code>
<button type="button" data-copy="secret" data-copied="${words.copied}">${words.copy}</button></div>
<h2>${words.snippets}</h2>
${drawSnippets(visit, secret, { masks })}`
}
