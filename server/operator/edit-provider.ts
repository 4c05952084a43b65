/** Edits a provider's address, type or credential; its models, prices and routes stay. */
import * as z from 'zod/mini'
import type { Act, Amended } from '#domain/act.ts'
import { type Stale, untilCurrent } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  DEFAULT_CREDENTIAL,
  type OutputBound,
  outputBoundOf,
  type Provider,
  type ProviderAmendment,
  type StatedCredential,
} from '#domain/provider.ts'
import { shellWord } from '#forms/shell-word.ts'
import { markCatalogued } from './catalog.ts'
import { checkCredential, credentialField } from './credential.ts'
import type { OperatorDeps } from './deps.ts'
import {
  addressFields,
  baseUrlFor,
  isAddressStated,
  type StatedAddress,
} from './provider-address.ts'
import {
  findProvider,
  outputBoundField,
  outputBoundFor,
  type ProviderRecord,
  report,
  typeFor,
} from './providers.ts'
import { mutation } from './verb.ts'

export interface EditedProviderRecord extends ProviderRecord {
  readonly credential_changed: boolean
  readonly previous: Pick<ProviderRecord, 'type' | 'base_url' | 'output_bound'>
}

/**
 * Absent fields stay unchanged, but a new address needs the credential again (hardening §4.2). Takes effect with the next
 * request. @throws provider_not_found, invalid_request
 */
export const editProvider = mutation(
  'providers.edit',
  z.strictObject({
    name: z.string(),
    type: z.optional(z.string()),
    ...addressFields,
    /** Null removes it. */
    credential: z.optional(z.nullable(credentialField)),
    output_bound: outputBoundField,
  }),
  async (deps, input, act): Promise<EditedProviderRecord> => {
    const { credential } = input
    const { before, after } = await untilCurrent(() => {
      const found = findProvider(deps, input.name)
      const amendment = {
        ...settleEdit(found, input),
        ...(credential !== undefined && { credentials: replaceCredential(found, credential) }),
      }
      if (credential !== undefined) checkCredential({ ...found, ...amendment }, credential)
      return edit(deps, found, amendment, act(found.name))
    })
    if (after.type !== before.type) await markCatalogued(deps, after.name)
    return {
      ...report(deps, after),
      credential_changed: credential !== undefined,
      previous: {
        type: before.type,
        base_url: before.baseUrl,
        output_bound: outputBoundOf(before),
      },
    }
  },
)

/** What replaces the one that it has. @throws invalid_request where it has several */
function replaceCredential(
  { name, credentials }: Provider,
  secret: string | null,
): readonly StatedCredential[] {
  if (credentials.length > 1) throw hasSeveral(name, credentials.length)
  if (secret === null) return []
  return [{ ...(credentials[0] ?? { name: DEFAULT_CREDENTIAL, weight: 1 }), secret }]
}

const hasSeveral = (name: string, count: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `${name} has ${count} credentials: each is replaced by its name, and before the address changes all but one are removed`,
    { hint: `gatewayctl providers credentials list ${name}` },
  )

/** @throws invalid_request with the command that also states the credential */
async function edit(
  { store }: OperatorDeps,
  { name, revision, credentials }: Provider,
  amendment: ProviderAmendment,
  act: Act,
): Promise<Amended<Provider> | Stale> {
  try {
    return await store.providers.edit(name, amendment, act, revision)
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.details.param !== 'credential') throw thrown
    if (credentials.length > 1) throw hasSeveral(name, credentials.length)
    const { type, baseUrl } = amendment
    const typed = [
      ...(type === undefined ? [] : ['--type', type]),
      ...(baseUrl === undefined ? [] : ['--base-url', shellWord(baseUrl)]),
    ].join(' ')
    throw new GatewayError('invalid_request', thrown.message, {
      param: 'credential',
      hint: `gatewayctl providers edit ${name} ${typed} --key-file -   (or --no-key)`,
    })
  }
}

/**
 * What an edit changes: the fields that are stated, and what another type entails.
 * @throws invalid_request, also for the built-in provider
 */
export function settleEdit(
  before: Pick<Provider, 'name' | 'type' | 'baseUrl' | 'outputBound'>,
  stated: {
    readonly type?: string | undefined
    readonly output_bound?: OutputBound | null | undefined
  } & StatedAddress,
): ProviderAmendment {
  if (before.type === 'demo') throw builtIn(before)
  const type =
    stated.type === undefined ? before.type : typeFor(before.name, stated.type, undefined)
  const { output_bound: bound } = stated
  if (type === before.type) {
    return {
      ...(isAddressStated(stated) && { baseUrl: baseUrlFor(type, stated) }),
      ...(bound !== undefined && { outputBound: outputBoundFor(type, bound) }),
    }
  }
  // A new type gets its vendor's address unless one is given.
  return { type, baseUrl: baseUrlFor(type, stated), outputBound: outputBoundFor(type, bound) }
}

const builtIn = ({ name }: Pick<Provider, 'name'>): GatewayError =>
  new GatewayError('invalid_request', `${name} is built in: there is nothing to change`)
