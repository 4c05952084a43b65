/** A provider's address, kind or credential changed, without losing its models, prices and routes. */
import * as z from 'zod/mini'
import { type ActFacts, changesBetween } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Provider } from '#domain/provider.ts'
import {
  baseUrlFor,
  credentialField,
  findProvider,
  type ProviderRecord,
  report,
  typeFor,
} from './providers.ts'
import { acting } from './verb.ts'

export interface EditedProviderRecord extends ProviderRecord {
  readonly credential_changed: boolean
  readonly previous: { readonly type: string; readonly base_url: string }
}

/** What is not stated stays; it holds from the next request. @throws provider_not_found, invalid_request */
export const editProvider = acting(
  'providers.edit',
  z.strictObject({
    name: z.string(),
    type: z.optional(z.string()),
    base_url: z.optional(z.string()),
    /** Null: it asks for none any more. */
    credential: z.optional(z.nullable(credentialField)),
  }),
  async (deps, input): Promise<EditedProviderRecord> => {
    const before = await findProvider(deps, input.name)
    if (before.type === 'demo') throw builtIn(before)
    const type =
      input.type === undefined ? before.type : typeFor(before.name, input.type, undefined)
    // The address of another vendor's type is that vendor's, unless one is stated.
    const kept = type === before.type ? before.baseUrl : undefined
    const edited: Provider = { ...before, type, baseUrl: baseUrlFor(type, input.base_url ?? kept) }
    const { credential } = input
    await deps.store.providers.edit(edited, credential === undefined ? 'keep' : { credential })
    return {
      ...(await report(deps, await findProvider(deps, before.name))),
      credential_changed: credential !== undefined,
      previous: { type: before.type, base_url: before.baseUrl },
    }
  },
  (_, edited) => tellEdit(edited),
)

/** That the credential is another one, never which. */
function tellEdit({ name, type, base_url, previous, credential_changed }: EditedProviderRecord) {
  const changed: ActFacts['changed'] = {
    ...changesBetween(previous, { type, base_url }),
    ...(credential_changed && { credential: 'changed' }),
  }
  return Object.keys(changed).length === 0 ? null : { target: name, changed }
}

const builtIn = ({ name }: Provider): GatewayError =>
  new GatewayError('invalid_request', `${name} is built in: there is nothing to change`)
