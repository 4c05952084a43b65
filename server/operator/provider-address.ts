/** Where a provider is: its base URL as stated, that of its vendor, or that of a region of its cloud. */
import * as z from 'zod/mini'
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { GatewayError } from '#domain/errors.ts'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { GLOBAL, isProject, isRegion, regionalAddress } from '#domain/region.ts'

export const addressFields = {
  base_url: z.optional(z.string()),
  /** Of a cloud; instead of `base_url`. */
  region: z.optional(
    z.string().check(z.refine(isRegion, 'must be a region such as eu-central-1, or global')),
  ),
  /** Of Google Cloud; without it that of the service account. */
  project: z.optional(z.string().check(z.refine(isProject, "must be a project's id"))),
}

export interface StatedAddress {
  readonly base_url?: string | undefined
  readonly region?: string | undefined
  readonly project?: string | undefined
}

/** Whether any of it is stated. */
export const isAddressStated = ({ base_url, region, project }: StatedAddress): boolean =>
  base_url !== undefined || region !== undefined || project !== undefined

/** @throws invalid_request unless it is an http or https URL without user, query and fragment */
export function baseUrlFor(type: ProviderType, stated: StatedAddress): string {
  const text = regionalBaseUrl(type, stated) ?? stated.base_url ?? PROVIDER_PRESETS[type].baseUrl
  if (text === null) {
    throw new GatewayError('invalid_request', `a provider of type ${type} needs its address`, {
      param: 'base_url',
      hint: '--base-url https://host.example/v1',
    })
  }
  const url = parseAbsoluteUrl(text)
  const plain = url !== null && url.username === '' && url.search === '' && url.hash === ''
  if (plain && (url.protocol === 'https:' || url.protocol === 'http:') && url.password === '') {
    return text.replace(/\/+$/, '')
  }
  throw new GatewayError(
    'invalid_request',
    'base_url must be a plain http or https address, without user, query or fragment',
    { param: 'base_url', hint: '--base-url https://host.example/v1' },
  )
}

/** Null where neither region nor project is stated. */
function regionalBaseUrl(
  type: ProviderType,
  { base_url: address, region, project }: StatedAddress,
): string | null {
  if (region === undefined && project === undefined) return null
  const param = region === undefined ? 'project' : 'region'
  const base = regionalAddress(type, region ?? GLOBAL)
  if (base === null || (project !== undefined && type !== 'vertex')) {
    throw new GatewayError('invalid_request', `a provider of type ${type} has no ${param}`, {
      param,
    })
  }
  if (address !== undefined) {
    throw new GatewayError('invalid_request', `base_url and ${param} exclude each other`, { param })
  }
  return project === undefined ? base : `${base}/projects/${project}/locations/${region ?? GLOBAL}`
}
