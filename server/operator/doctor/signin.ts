/** Checks that people can sign in: with a code by e-mail, and with the configured identity providers. */
import { renderInstant } from '#domain/clock.ts'
import { isGroupName } from '#signin/register/access.ts'
import { relyingPartyOf } from '#signin/register/passkey.ts'
import { unusedUris } from '../clients.ts'
import type { BrandFacts, OperatorDeps } from '../deps.ts'
import { openAccounts } from '../find-account.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { unreadable } from './unreadable.ts'

/** Only of applications: without one, nobody is meant to sign in. A demo prints its codes. */
export async function checkCodes(deps: OperatorDeps): Promise<readonly Finding[]> {
  const { store, live, delivery, dataDir } = deps
  if (dataDir === null) return []
  const applications = (await store.signin.clients.list()).length
  if (applications === 0) return [ok('sign-in', 'no application signs people in')]
  if (live !== null && live.authUrl === null) {
    const message = 'applications are registered, but sign-in is off in the running gateway'
    return [warning('sign-in', message, 'gatewayctl serve --auth-listen 127.0.0.1:4141')]
  }
  if (!delivery.smtp) return [await withoutMail(deps)]
  const failure = live?.codeMailFailure() ?? null
  if (failure === null) return [ok('sign-in', 'a mail server is set for sign-in codes')]
  const { at, reason, isOfMail } = failure
  return [
    isOfMail
      ? warning(
          'sign-in',
          `the mail server rejected the last sign-in code (${reason}, ${renderInstant(at)})`,
          'check its address, and the sender in GATEWAY_SMTP_FROM',
        )
      : problem(
          'sign-in',
          `sign-in codes cannot be mailed: ${reason} (${renderInstant(at)})`,
          'check GATEWAY_SMTP_URL: gatewayctl help environment',
        ),
  ]
}

/** A service may be given its mail server from elsewhere, so without a running one this is no certainty. */
async function withoutMail({ store, live }: OperatorDeps): Promise<Finding> {
  const next = 'gatewayctl help environment'
  const why = 'there is no mail server (GATEWAY_SMTP_URL)'
  if (live === null) return warning('sign-in', `here ${why} to send sign-in codes`, next)
  const providers = await store.signin.identityProviders.list()
  return providers.length === 0
    ? problem('sign-in', `nobody can sign in: ${why}, and no identity provider`, next)
    : warning(
        'sign-in',
        `${why}: new people cannot sign in with an external provider, because their first code cannot be sent`,
        next,
      )
}

/** Who may look after the accounts, and where. */
export async function checkCabinet(deps: OperatorDeps): Promise<readonly Finding[]> {
  const { store, live } = deps
  const unowned: string[] = []
  for (const { id, name } of await openAccounts(deps)) {
    const members = await store.signin.memberships.ofAccount(id)
    if (!members.some(({ role }) => role === 'owner')) unowned.push(name)
  }
  const where = live === null ? 'while a gateway runs' : (live.cabinetUrl ?? 'off')
  const owned =
    unowned.length === 0 ? 'every account has an owner' : `without an owner: ${unowned.join(', ')}`
  return [ok('cabinet', `${where}; ${owned}`)]
}

/** Applications may trust that whoever is signed in is one of the operator's people. Known only of a running gateway. */
export async function checkSignup({
  store,
  live,
  delivery,
}: OperatorDeps): Promise<readonly Finding[]> {
  if (live === null || live.authUrl === null || live.signup !== 'open') return []
  if (!delivery.smtp) return []
  const clients = await store.signin.clients.list()
  const open = clients.filter(({ access }) => access === 'everybody').map(({ id }) => id)
  if (open.length === 0) return []
  const which = open.length === clients.length ? 'every application' : open.join(', ')
  return [
    warning(
      'sign-up',
      `anybody with a mailbox may sign in to ${which} (auth_signup is open)`,
      `set auth_signup = ["example.org"] or "closed"; or per application: gatewayctl clients edit ${open[0]} --allow @example.org`,
    ),
  ]
}

/** Addresses that the protocol does not accept beside the others, registered before they were judged together. */
export async function checkClients({ store }: OperatorDeps): Promise<readonly Finding[]> {
  const clients = await store.signin.clients.list()
  return clients.flatMap((client) => {
    const unused = unusedUris(client)
    if (unused.length === 0) return []
    const message = `${client.id} does not use ${unused.join(', ')}: the other addresses are of another kind`
    return [warning('clients', message, `gatewayctl clients edit ${client.id} --help`)]
  })
}

/** An application that is open to groups alone, none of which has anybody, is open to nobody. */
export async function checkAccess({ store }: OperatorDeps): Promise<readonly Finding[]> {
  const groups = new Set((await store.signin.groups.list()).map(({ name }) => name))
  const isShut = (rule: string): boolean => isGroupName(rule) && !groups.has(rule)
  const shut = (await store.signin.clients.list()).flatMap(({ id, access }) =>
    access !== 'everybody' && access.every(isShut) ? [{ id, groups: access }] : [],
  )
  return shut.map(({ id, groups }) =>
    warning(
      'access',
      `nobody may enter ${id}: nobody belongs to ${groups.join(', ')}`,
      `gatewayctl groups add ${groups[0]} EMAIL`,
    ),
  )
}

/** Browsers have passkeys only at a host name, and with TLS. Known only of a running gateway. */
export async function checkPasskeys({ store, live }: OperatorDeps): Promise<readonly Finding[]> {
  const { authUrl = null, passkeys = 'optional' } = live ?? {}
  if (authUrl === null) return []
  if (passkeys === 'off') return [ok('passkeys', 'passkeys are off (auth_passkeys)')]
  if (relyingPartyOf(authUrl) !== null)
    return [ok('passkeys', `passkeys are ${passkeys}, for ${authUrl}`)]
  const why = `browsers have no passkeys at ${authUrl}: they need https, and a host name`
  const applications = await store.signin.clients.count()
  return [
    applications === 0
      ? ok('passkeys', why)
      : warning(
          'passkeys',
          why,
          'gatewayctl serve --auth-url https://auth.example.org; or auth_passkeys = "off"',
        ),
  ]
}

/** A colour in which text could not be read is shown in another shade. Known only of a running gateway. */
export async function checkBrand({ live }: OperatorDeps): Promise<readonly Finding[]> {
  const { brand } = live ?? {}
  if (brand === undefined || (brand.name ?? brand.shades) === null) return []
  const { name, hasLogo, shades } = brand
  const named = name === null ? [] : [`${name}, ${hasLogo ? 'with a logo' : 'without a logo'}`]
  return [ok('brand', [...named, ...(shades ? describeShades(shades) : [])].join('; '))]
}

type Shades = NonNullable<BrandFacts['shades']>

const describeShades = ({ stated, light, dark }: Shades): readonly string[] => [
  stated,
  ...(light === stated ? [] : [`as ${light} on light pages, where its contrast would be too low`]),
  ...(dark === stated ? [] : [`as ${dark} on dark ones`]),
]

/** Whether the secret of each identity provider can be read. */
export async function checkIdentities(deps: OperatorDeps): Promise<readonly Finding[]> {
  const { identityProviders } = deps.store.signin
  const providers = await identityProviders.list()
  if (providers.length === 0) return []
  const findings: Finding[] = []
  for (const { name } of providers) {
    const isReadable = await identityProviders.secret(name).then(
      () => true,
      () => false,
    )
    if (isReadable) continue
    findings.push(
      await unreadable(
        deps,
        'identities',
        `the secret of ${name}`,
        `gatewayctl identities edit ${name} --new-secret`,
      ),
    )
  }
  if (findings.length > 0) return findings
  return [
    ok('identities', `credentials readable: ${providers.map(({ label }) => label).join(', ')}`),
  ]
}
