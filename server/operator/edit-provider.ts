/** Edits a provider's address, type or credential; its models, prices and routes stay. */
import * as z from 'zod/mini'
import { type ActFacts, changesBetween } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import { amendProvider, type OutputBound, outputBoundOf, type Provider } from '#domain/provider.ts'
import { shellWord } from '#forms/shell-word.ts'
import {
  baseUrlFor,
  credentialField,
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
    base_url: z.optional(z.string()),
    /** Null removes it. */
    credential: z.optional(z.nullable(credentialField)),
    output_bound: outputBoundField,
  }),
  async (deps, input): Promise<EditedProviderRecord> => {
    const before = await findProvider(deps, input.name)
    const edited = amendProvider(before, settleEdit(before, input))
    const { credential } = input
    if (credential === undefined) requireSameAddress(before, edited)
    await deps.store.providers.edit(edited, credential === undefined ? 'keep' : { credential })
    return {
      ...(await report(deps, await findProvider(deps, before.name))),
      credential_changed: credential !== undefined,
      previous: {
        type: before.type,
        base_url: before.baseUrl,
        output_bound: outputBoundOf(before),
      },
    }
  },
  (_, edited) => describeEdit(edited),
)

/** Type, address and stated bound after an edit. @throws invalid_request, also for the built-in provider */
export function settleEdit(
  before: Pick<Provider, 'name' | 'type' | 'baseUrl' | 'outputBound'>,
  stated: {
    readonly type?: string | undefined
    readonly base_url?: string | undefined
    readonly output_bound?: OutputBound | null | undefined
  },
): Pick<Provider, 'type' | 'baseUrl' | 'outputBound'> {
  if (before.type === 'demo') throw builtIn(before)
  const type =
    stated.type === undefined ? before.type : typeFor(before.name, stated.type, undefined)
  // A new type gets its vendor's address unless one is given.
  const kept = type === before.type ? before.baseUrl : undefined
  const { output_bound: bound = type === before.type ? before.outputBound : null } = stated
  const baseUrl = baseUrlFor(type, stated.base_url ?? kept)
  return { type, baseUrl, outputBound: outputBoundFor(type, bound) }
}

/** @throws invalid_request with param `credential`: the caller can ask for it and repeat the edit */
function requireSameAddress(before: Provider, { name, type, baseUrl }: Provider): void {
  if (!before.hasCredential || isSameAddress(before.baseUrl, baseUrl)) return
  const flags = `${type === before.type ? '' : ` --type ${type}`} --base-url ${shellWord(baseUrl)}`
  throw new GatewayError(
    'invalid_request',
    `the credential of ${name} was given for ${before.baseUrl}: another address needs it anew`,
    {
      param: 'credential',
      hint: `gatewayctl providers edit ${name}${flags} --key-file -   (or --no-key)`,
    },
  )
}

/** Compares the normalised URLs. */
const isSameAddress = (one: string, other: string): boolean =>
  new URL(one).href === new URL(other).href

/** Records that the credential changed, never its value. */
function describeEdit({
  name,
  type,
  base_url,
  output_bound,
  previous,
  credential_changed,
}: EditedProviderRecord) {
  const changed: ActFacts['changed'] = {
    ...changesBetween(previous, { type, base_url, output_bound }),
    ...(credential_changed && { credential: 'changed' }),
  }
  return Object.keys(changed).length === 0 ? null : { target: name, changed }
}

const builtIn = ({ name }: Pick<Provider, 'name'>): GatewayError =>
  new GatewayError('invalid_request', `${name} is built in: there is nothing to change`)
