/** The frame of every screen: navigation, the account, who is signed in. */
import type { Language } from '#domain/language.ts'
import { drawBrand, headOf } from '#pages/brand.ts'
import { type Html, html, raw } from '#pages/html.ts'
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { HTMX, SCRIPT, STYLE } from '../assets.ts'
import { USUAL_NAME } from '../client.ts'
import type { CabinetDeps } from '../deps.ts'
import type { Guest, Visit } from '../visit.ts'
import type { Words } from '../words/en.ts'
import { changing, REST_PLACE, type Sheet } from './parts.ts'

type Branded = Pick<CabinetDeps, 'brand'>

/** The screens by their paths, in the order of the navigation; `whole`: only for who sees the whole account. */
const SCREENS = [
  { name: 'overview', path: '/cabinet', isWhole: false },
  { name: 'keys', path: '/cabinet/keys', isWhole: false },
  { name: 'activity', path: '/cabinet/activity', isWhole: false },
  { name: 'spend', path: '/cabinet/spend', isWhole: false },
  { name: 'balance', path: '/cabinet/balance', isWhole: true },
  { name: 'models', path: '/cabinet/models', isWhole: false },
  { name: 'people', path: '/cabinet/people', isWhole: true },
  { name: 'you', path: '/cabinet/you', isWhole: false },
] as const

/** History holds no page: what is shown once would be in it. Nothing is evaluated, and no style is added. */
const HTMX_CONFIG = JSON.stringify({
  allowEval: false,
  includeIndicatorStyles: false,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  selfRequestsOnly: true,
  allowScriptTags: false,
  scrollBehavior: 'auto',
  responseHandling: [
    { code: '204', swap: false },
    { code: '...', swap: true },
  ],
})

export const frame = (visit: Visit, sheet: Sheet): Html =>
  documentOf(
    visit.deps,
    visit.language,
    sheet,
    html`<body hx-boost="true">
<a class="skip" href="#main">${visit.words.skip}</a>
<div class="frame">
<header class="side">
<a class="brand" href="/cabinet">${drawBrand(visit.deps.brand, USUAL_NAME)}</a>
${accountOf(visit)}
<nav aria-label="${visit.words.navigation}"><ul>
${SCREENS.filter(({ isWhole }) => !isWhole || visit.role !== 'member').map(
  ({ name, path }) =>
    html`<li><a href="${path}"${name === 'spend' && UNBOOSTED}${isHere(visit.url.pathname, path) ? html` aria-current="page"` : ''}>${visit.words.screens[name]}</a></li>
`,
)}</ul></nav>
${whoOf(visit)}
</header>
<main id="main" tabindex="-1"${sheet.live === undefined ? '' : html` data-live="${sheet.live}"`}>
${visit.account.closedAt !== null && html`<p class="warning">${visit.words.closed}</p>`}
${sheet.content}
${sheet.rest && raw(REST_PLACE)}
</main>
</div>
</body>`,
  )

/** Of a page that is drawn as it is read: a script would wait for all of it. */
export const UNBOOSTED = html` hx-boost="false"`

const isHere = (pathname: string, path: string): boolean =>
  pathname === path || (path !== '/cabinet' && pathname.startsWith(`${path}/`))

function accountOf(visit: Visit): Html {
  const { accounts, account, role, words } = visit
  const name = html`<b><bdi>${account.name}</bdi></b>`
  const one = html`<div class="account">${accounts.length > 1 ? '' : name}<span class="role">${words.roles[role]}</span></div>`
  if (accounts.length < 2) return one
  return html`${changing(
    { session: visit.session },
    '/cabinet/account',
    html`<div class="account"><label class="unseen" for="account">${words.account}</label>
<select id="account" name="account" data-submits>${accounts.map(({ account: { id, name } }) => html`<option value="${id}"${id === account.id ? html` selected` : ''}>${name}</option>`)}</select>
<button class="unscripted" type="submit">${words.choose}</button></div>`,
  )}${one}`
}

const whoOf = (
  guest: Guest,
): Html => html`<div class="who"><span class="email"><bdi>${guest.person.email}</bdi></span>
${signOutOf(guest)}</div>`

const signOutOf = (guest: Guest): Html =>
  changing(
    guest,
    '/cabinet/sign-out',
    html`<button type="submit">${guest.words.signOut}</button>`,
    html` hx-boost="false"`,
  )

/** For somebody without an account, who has no screens. */
export const bareFrame = (guest: Guest, sheet: Sheet): Html =>
  documentOf(
    guest.deps,
    guest.language,
    sheet,
    html`<body><main id="main">
<p class="brand">${drawBrand(guest.deps.brand, USUAL_NAME)}</p>
${sheet.content}
${whoOf(guest)}
</main></body>`,
  )

/** For somebody who is not signed in, or whose request failed. */
export const plainFrame = (deps: Branded, language: Language, sheet: Sheet): Html =>
  documentOf(
    deps,
    language,
    sheet,
    html`<body><main id="main"><p class="brand">${drawBrand(deps.brand, USUAL_NAME)}</p>${sheet.content}</main></body>`,
  )

/** The page between a form and a third party: it goes there by itself, with a link for who has to. */
export const onwardFrame = (deps: Branded, language: Language, words: Words, to: string): Html =>
  documentOf(
    deps,
    language,
    { title: words.onward, content: html`` },
    html`<body><main id="main"><p class="brand">${drawBrand(deps.brand, USUAL_NAME)}</p><h1>${words.onward}</h1>
<div class="acts"><a class="button lead-button" href="${to}">${words.goOn}</a></div></main></body>`,
    html`<meta http-equiv="refresh" content="0;url=${to}">`,
  )

const documentOf = (
  { brand }: Branded,
  language: Language,
  { title }: Sheet,
  body: Html,
  head: Html | '' = '',
): Html => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="htmx-config" content="${HTMX_CONFIG}">
<title>${title} · ${brand.name ?? USUAL_NAME}</title>
${head}<link rel="stylesheet" href="${STYLE.path}">
${headOf(brand)}
<script src="${HTMX.path}" defer></script>
<script src="${SCRIPT.path}" type="module"></script>
<script src="${PASSKEY_SCRIPT.path}" type="module"></script>
</head>
${body}
</html>
`
