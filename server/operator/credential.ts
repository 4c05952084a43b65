/** A provider's credential: one line for most types, a JSON document for those of clouds. */
import * as z from 'zod/mini'
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { readAwsCredential, readGoogleCredential } from '#domain/cloud-credential.ts'
import { GatewayError } from '#domain/errors.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { regionOf } from '#domain/region.ts'

/** It travels in a header, so it is one line of visible ASCII. */
const LINE = /^[\x21-\x7e]{1,4096}$/
/** Longer than any key file. */
const DOCUMENT_CHARS = 16_384

const isDocument = (text: string): boolean => text.startsWith('{')

/** A document is kept without its white space. */
export const credentialField = z.string().check(
  z.trim(),
  z.overwrite((text) => (isDocument(text) ? compact(text) : text)),
  z.refine((text) => (isDocument(text) ? text.length <= DOCUMENT_CHARS : LINE.test(text)), {
    error: 'is neither one line of visible characters nor JSON',
  }),
  z.refine((text) => !text.startsWith('if-'), {
    error: 'starts with if- : it is a key of this gateway, which would call itself',
  }),
)

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    // Refused where it is read for its type.
    return text
  }
}

/** @throws invalid_request with param `credential` for one that a provider of this type and address cannot use */
export function checkCredential(
  { type, baseUrl }: Pick<Provider, 'type' | 'baseUrl'>,
  credential: string | null,
): void {
  const host = parseAbsoluteUrl(baseUrl)?.hostname ?? ''
  switch (PROVIDER_PRESETS[type].cloud) {
    case 'aws': {
      const read = readAwsCredential(credential)
      if (read.kind === 'api-key' || (read.region ?? regionOf(type, host)) !== null) return
      throw unusable(
        `requests are signed for a region, and ${host} names none`,
        'put "Region" into the credential, or give --region instead of --base-url',
      )
    }
    case 'google': {
      const project = readGoogleCredential(credential)?.projectId ?? null
      if (project !== null || baseUrl.includes('/projects/')) return
      throw unusable('nothing names the project', '--project my-project --region europe-west1')
    }
    default:
      if (credential === null || !isDocument(credential)) return
      throw unusable(`it is JSON, and a key of type ${type} is one line`)
  }
}

const unusable = (why: string, hint?: string): GatewayError =>
  new GatewayError('invalid_request', `the credential cannot be used: ${why}`, {
    param: 'credential',
    ...(hint !== undefined && { hint }),
  })
