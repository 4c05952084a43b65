/** The cabinet's requests: who asks, whether they may, and what answers. Every failure is a page that says what unblocks. */
import { Hono } from 'hono'
import type { Account } from '#domain/account.ts'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { performAs } from '#operator/as-person.ts'
import { mayDo, requireRole } from '#operator/roles.ts'
import { type Html, html } from '#pages/html.ts'
import { readLanguage } from '#pages/language.ts'
import { CABINET_ID } from '#signin/register/client.ts'
import { randomName } from '#signin/register/digest.ts'
import { newSigninEvent } from '#signin/register/signin-event.ts'
import { ASSETS, answerAsset } from './assets.ts'
import type { Cabinet, CabinetDeps } from './deps.ts'
import { bareFrame, frame, plainFrame } from './draw/frame.ts'
import { CHANGES, type Count, limitPerMinute, TRIES } from './how-often.ts'
import { type Once, openOnce } from './once.ts'
import { goTo, leaveFor, pageOf, streamedPageOf } from './respond.ts'
import { ROUTES, type Route } from './routes.ts'
import { LIVE_LIST } from './screens/activity.ts'
import { drawEnded, drawFailure, drawNobody, drawProblem, sentenceOf } from './screens/failure.ts'
import { linkPathOf } from './screens/identities.ts'
import {
  answerInvitation,
  INVITATIONS,
  invitationsOf,
  showInvitations,
} from './screens/invitations.ts'
import { ENDED } from './screens/live.ts'
import { chooseAccount, endSession, findSession, noteUse } from './session.ts'
import { openSignIn, type SignIn } from './sign-in.ts'
import type { Guest, Visit } from './visit.ts'
import { WORDS } from './words/words.ts'

interface Env {
  readonly Bindings: { readonly address: string }
}

interface House {
  readonly deps: CabinetDeps
  readonly signIn: SignIn
  readonly countChange: Count
  readonly countTry: Count
  readonly once: () => Promise<Once>
}

export function createCabinet(deps: CabinetDeps): Cabinet {
  let once: Promise<Once> | null = null
  const house: House = {
    deps,
    signIn: openSignIn(deps),
    countChange: limitPerMinute(deps.clock, CHANGES),
    countTry: limitPerMinute(deps.clock, TRIES),
    once: () => {
      once ??= deps.operator.then(({ store }) => openOnce(store.signin.artifacts, deps))
      return once
    },
  }
  const app = new Hono<Env>()
  app.get('/', () => goTo('/cabinet'))
  app.get(ENDED, (c) => sayEnded(deps, c.req.raw))
  app.get('/cabinet/callback', (c) => house.signIn.complete(c.req.raw, c.env.address))
  app.get(`${ASSETS}*`, (c) => answerAsset(c.req.raw) ?? new Response('not found', { status: 404 }))
  app.post('/cabinet/sign-out', (c) => withGuest(house, c.req.raw, c.env.address, signOut(house)))
  app.post('/cabinet/account', (c) => withGuest(house, c.req.raw, c.env.address, switchAccount))
  app.get(INVITATIONS, (c) => withGuest(house, c.req.raw, c.env.address, showInvitations))
  for (const answer of ['accept', 'decline'] as const) {
    app.post(`${INVITATIONS}/${answer}`, (c) =>
      withGuest(house, c.req.raw, c.env.address, answerInvitation(answer)),
    )
  }
  for (const route of ROUTES) {
    app.on(route.method, route.path, (c) =>
      withGuest(house, c.req.raw, c.env.address, visiting(house, route, c.req.param())),
    )
  }
  // Reloaded after a form that was refused: what the form changes is shown.
  for (const path of ROUTES.filter(isAlone).map((route) => route.path)) {
    app.get(path, (c) => goTo(c.req.path.slice(0, c.req.path.lastIndexOf('/'))))
  }
  app.all('*', (c) => withGuest(house, c.req.raw, c.env.address, notFound))
  app.onError((thrown, c) => failed(deps, c.req.raw, thrown))
  return {
    async answer(request, address) {
      if (!URL.canParse(request.url)) return null
      const url = new URL(request.url)
      const linked = request.method === 'GET' ? linkPathOf(url) : null
      if (linked !== null) return goTo(linked)
      const { pathname } = url
      if (request.method === 'GET' && pathname.startsWith('/cabinet/') && pathname.endsWith('/')) {
        return goTo(pathname.slice(0, -1) + url.search)
      }
      const isOurs = pathname === '/' || pathname === '/cabinet' || pathname.startsWith('/cabinet/')
      return isOurs ? await app.fetch(request, { address }) : null
    },
  }
}

const isAlone = ({ method, path }: Route): boolean =>
  method === 'POST' && !ROUTES.some((route) => route.method === 'GET' && route.path === path)

type Answer = (guest: Guest, form: URLSearchParams) => Promise<Response>

/** Only for somebody who is signed in; a form only from a page of this session. */
async function withGuest(
  house: House,
  request: Request,
  address: string,
  answer: Answer,
): Promise<Response> {
  const { deps, signIn } = house
  const url = new URL(request.url)
  const isPost = request.method === 'POST'
  // Who may do it is found once all of it has come: it may come for hours.
  const form = isPost ? await readForm(request) : null
  const guest = await findGuest(house, request, url, address)
  if (guest === undefined) return await askToSignIn(request, url, signIn)
  if (!isPost) return await answer(guest, new URLSearchParams())
  const seconds = house.countChange(guest.person.id, address)
  if (seconds !== null) return await tooMany(guest, guest.words.tooMany(seconds), seconds)
  if (!isOwnPost(request, deps.issuer) || form?.get('csrf') !== guest.session.csrf) {
    const page = plainFrame(deps, guest.language, drawProblem(guest.words, guest.words.forged))
    return await pageOf(deps, page, { status: 403, language: guest.language })
  }
  return await answer(guest, form)
}

async function tooMany(
  { deps, language, words }: Guest,
  sentence: string,
  seconds: number,
): Promise<Response> {
  const page = plainFrame(deps, language, drawProblem(words, sentence))
  const refused = await pageOf(deps, page, { status: 429, language })
  refused.headers.set('Retry-After', String(seconds))
  return refused
}

/** A page is come back to after signing in; a form was of a session that has ended, and is not sent again. */
async function askToSignIn(request: Request, url: URL, signIn: SignIn): Promise<Response> {
  const isPage = request.method === 'GET' || request.method === 'HEAD'
  if (request.headers.get('accept') === 'text/event-stream')
    return new Response(null, { status: 204 })
  const begun = await signIn.begin(isPage ? url.pathname + url.search : '/cabinet')
  return leaveFor(request, begun)
}

/** Whether an open page asks, and nobody in front of it: for its figures, or for requests that have come. */
const isByItself = ({ method, headers }: Request): boolean =>
  method === 'GET' &&
  (headers.get('accept') === 'text/event-stream' || headers.get('hx-trigger') === LIVE_LIST)

/** A part of a page that is open, or a file of it: of its account, and nothing is followed from it. */
const isPart = ({ headers }: Request, { pathname }: URL): boolean =>
  pathname.endsWith('.csv') ||
  (headers.has('hx-request') &&
    !headers.has('hx-boosted') &&
    !headers.has('hx-history-restore-request'))

async function findGuest(
  { deps, signIn }: House,
  request: Request,
  url: URL,
  address: string,
): Promise<Guest | undefined> {
  const id = signIn.cookie.read(request)
  if (id === null) return undefined
  const operator = await deps.operator
  const { store } = operator
  const at = deps.clock.now()
  const session = await findSession(store.signin.artifacts, id, at)
  if (session !== undefined && !isByItself(request)) {
    await noteUse(store.signin.artifacts, session, at)
  }
  const person = session && (await store.signin.people.find(session.personId))
  if (session === undefined || person === undefined || person.disabledAt !== null) return undefined
  const language = person.language ?? readLanguage(request.headers.get('accept-language'))
  const accounts: Guest['accounts'][number][] = []
  for (const { accountId, role } of await store.signin.memberships.ofPerson(person.id)) {
    const account = await store.accounts.find(accountId)
    if (account !== undefined) accounts.push({ account, role })
  }
  return {
    deps,
    operator,
    request,
    url,
    address,
    at,
    session,
    person,
    language,
    words: WORDS[language],
    accounts,
  }
}

/** A form is small; one that is not, or is no form, is none. */
const MAX_FORM_BYTES = 64 * 1024

async function readForm(request: Request): Promise<URLSearchParams | null> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.startsWith('application/x-www-form-urlencoded')) return null
  const bytes: Uint8Array[] = []
  let length = 0
  for await (const part of request.body ?? []) {
    length += part.length
    if (length > MAX_FORM_BYTES) return null
    bytes.push(part)
  }
  return new URLSearchParams(Buffer.concat(bytes).toString())
}

/** Whether a browser says that it posts from this origin; one that says nothing has the token alone to show. */
function isOwnPost({ headers }: Request, issuer: string): boolean {
  const [site, origin] = [headers.get('sec-fetch-site'), headers.get('origin')]
  if (site !== null && site !== 'same-origin') return false
  if (origin === 'null') return site === 'same-origin'
  return origin === null || origin === new URL(issuer).origin
}

/** The account that the session looks at where no address names one. */
const usualOf = ({ accounts, session }: Guest) =>
  accounts.find(({ account }) => account.id === session.account) ?? accounts[0]

/** Somebody opens a page: what they follow from it is of the same account. */
const isOpened = ({ request, url }: Guest): boolean =>
  request.method === 'GET' && !isByItself(request) && !isPart(request, url)

async function choose(guest: Guest, { id }: Account): Promise<void> {
  const { operator, session } = guest
  if (usualOf(guest)?.account.id === id) return
  await chooseAccount(operator.store.signin.artifacts, session, id)
}

/** The account that the address names, else the usual one. */
const visiting =
  (house: House, route: Route, named: Readonly<Record<string, string>>): Answer =>
  async (guest, form) => {
    const { deps, words, language } = guest
    const asked = guest.url.searchParams.get('account') ?? form.get('account')
    const chosen =
      asked === null
        ? usualOf(guest)
        : guest.accounts.find(({ account }) => account.name === asked || account.id === asked)
    if (chosen !== undefined && isOpened(guest)) await choose(guest, chosen.account)
    if (chosen === undefined) {
      const isKnown = guest.accounts.length > 0
      if (!isKnown && (await invitationsOf(guest)).length > 0) return goTo(INVITATIONS)
      const sheet = isKnown ? drawProblem(words, words.notFound) : drawNobody(guest)
      return await pageOf(deps, bareFrame(guest, sheet), { status: isKnown ? 404 : 403, language })
    }
    const { account, role } = chosen
    const actor = {
      personId: guest.person.id,
      email: guest.person.email,
      accountId: account.id,
      role,
    }
    const act = performAs(guest.operator, actor)
    const visit: Visit = { ...guest, account, role, actor, act, named, form }
    return await answerRoute(house, route, visit)
  }

async function answerRoute(house: House, route: Route, visit: Visit): Promise<Response> {
  const { deps, language, role } = visit
  try {
    requireRole(role, route.needs)
    if (route.method === 'POST' && route.isTry) {
      const seconds = house.countTry(visit.person.id, visit.address)
      if (seconds !== null) return await tooMany(visit, visit.words.tooManyTries(seconds), seconds)
    }
    if (route.method === 'POST')
      return inAccount(visit, await route.answer(visit, await house.once()))
    const answer = await route.answer(visit, await house.once())
    if (answer instanceof Response) return answer
    const page = frame(visit, answer)
    const { rest, meanwhile } = answer
    if (rest !== undefined) {
      const failed = (cause: unknown) => drawLateFailure(deps, visit, cause)
      return await streamedPageOf(deps, page, { rest, meanwhile }, { language, failed })
    }
    return await pageOf(deps, page, { status: answer.status, language })
  } catch (thrown) {
    const error = toGatewayError(thrown)
    if (error.code === 'internal_error') throw thrown
    const sheet = drawFailure(visit, error, !mayDo(role, route.needs))
    return await pageOf(deps, frame(visit, sheet), { status: error.status, language })
  }
}

const ERROR_ID_CHARS = 10

/** Of the rest of a page, whose beginning has left. */
function drawLateFailure(deps: CabinetDeps, visit: Visit, thrown: unknown): Html {
  const error = toGatewayError(thrown)
  const sentence =
    error.code === 'internal_error'
      ? visit.words.failed(noteFault(deps, thrown))
      : sentenceOf(visit, error)
  return html`<p class="problem">${sentence}</p>`
}

function noteFault(deps: CabinetDeps, thrown: unknown): string {
  const errorId = randomName(ERROR_ID_CHARS)
  deps.logFault(thrown, errorId)
  return errorId
}

/** The page that a form leads to is of the form's account, whichever the session looks at. */
function inAccount(visit: Visit, answer: Response): Response {
  const { account } = visit
  const location = answer.headers.get('location')
  if (location === null || usualOf(visit)?.account.id === account.id) return answer
  const [path = '', query = ''] = location.split('?')
  const named = new URLSearchParams(query)
  named.set('account', account.name)
  answer.headers.set('Location', `${path}?${named}`)
  return answer
}

const signOut =
  ({ deps, signIn }: House): Answer =>
  async ({ operator, session, person, address, at }) => {
    const event = newSigninEvent(at, {
      outcome: 'signed_out',
      address,
      personId: person.id,
      clientId: CABINET_ID,
    })
    await endSession(operator.store.signin.artifacts, session, event)
    deps.observed(event)
    const answer = goTo('/cabinet')
    answer.headers.append('Set-Cookie', signIn.cookie.clear())
    answer.headers.set('Clear-Site-Data', '"cache"')
    return answer
  }

const switchAccount: Answer = async ({ accounts, operator, session }, form) => {
  const chosen = accounts.find(({ account }) => account.id === form.get('account'))
  if (chosen !== undefined) {
    await chooseAccount(operator.store.signin.artifacts, session, chosen.account.id)
  }
  return goTo('/cabinet')
}

const notFound: Answer = async (guest) => {
  const { deps, words, language } = guest
  const page = plainFrame(deps, language, drawProblem(words, words.notFound))
  return await pageOf(deps, page, { status: 404, language })
}

/** Signing in again is left to whoever is there: the sign-in provider's session may go on. */
async function sayEnded(deps: CabinetDeps, request: Request): Promise<Response> {
  const language = readLanguage(request.headers.get('accept-language'))
  return await pageOf(deps, plainFrame(deps, language, drawEnded(WORDS[language])), { language })
}

async function failed(deps: CabinetDeps, request: Request, thrown: unknown): Promise<Response> {
  const language = readLanguage(request.headers.get('accept-language'))
  const words = WORDS[language]
  if (thrown instanceof GatewayError && thrown.code !== 'internal_error') {
    const page = plainFrame(deps, language, drawProblem(words, words.unavailable))
    return await pageOf(deps, page, { status: thrown.status, language })
  }
  const page = plainFrame(deps, language, drawProblem(words, words.failed(noteFault(deps, thrown))))
  return await pageOf(deps, page, { status: 500, language })
}
