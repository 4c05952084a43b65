/** Credentials of clouds: what an operator stores for a provider whose requests are signed, or need a token that expires. */
import { parseAbsoluteUrl } from './absolute-url.ts'
import { GatewayError } from './errors.ts'
import { isLoopbackHost } from './loopback.ts'

/** An access key of AWS, with the token of a session where it is one for some hours. */
export interface AwsKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export type AwsCredential =
  | { readonly kind: 'api-key'; readonly key: string }
  | { readonly kind: 'access-key'; readonly key: AwsKey; readonly region: string | null }
  | {
      readonly kind: 'role'
      /** Null: the role that the gateway's machine has. */
      readonly role: { readonly arn: string; readonly externalId: string | null } | null
      /** Who takes the role on; null: who the gateway's machine is. */
      readonly key: AwsKey | null
      readonly region: string | null
    }

/** Who Google is asked as: a service account, or, where none is stored, the one of the gateway's machine. */
export interface GoogleCredential {
  readonly email: string
  readonly keyId: string | null
  /** PKCS #8, as PEM. */
  readonly privateKey: string
  readonly projectId: string | null
  readonly tokenUri: string
}

/**
 * An API key, or JSON with the names of AWS: `AccessKeyId`, `SecretAccessKey`, `SessionToken`, as `aws configure
 * export-credentials` prints them, and `RoleArn`, `ExternalId`, `Region`. None: the role of the gateway's machine.
 * @throws invalid_request
 */
export function readAwsCredential(text: string | null): AwsCredential {
  if (text === null) return { kind: 'role', role: null, key: null, region: null }
  if (!text.startsWith('{')) return { kind: 'api-key', key: text }
  const fields = parse(text)
  const word = (name: string): string | null => readWord(fields, name)
  const id = word('AccessKeyId')
  const secret = word('SecretAccessKey')
  const token = word('SessionToken')
  if ((id === null) !== (secret === null)) {
    throw refused('AccessKeyId and SecretAccessKey belong together')
  }
  const key =
    id === null || secret === null
      ? null
      : { accessKeyId: id, secretAccessKey: secret, ...(token !== null && { sessionToken: token }) }
  const region = word('Region')
  const arn = word('RoleArn')
  if (arn !== null) {
    return { kind: 'role', role: { arn, externalId: word('ExternalId') }, key, region }
  }
  if (key !== null) return { kind: 'access-key', key, region }
  throw refused(
    'it has neither AccessKeyId and SecretAccessKey nor RoleArn; an API key is one line, without braces',
  )
}

/** The key file of a service account. @throws invalid_request */
export function readGoogleCredential(text: string | null): GoogleCredential | null {
  if (text === null) return null
  if (!text.startsWith('{')) {
    throw refused(
      'it is not JSON: a provider of type vertex takes the key file of a service account',
    )
  }
  const fields = parse(text)
  const type = readWord(fields, 'type')
  if (type !== 'service_account') {
    throw refused(
      `its type is ${type === null ? 'not stated' : `"${type}"`}; the key file of a service account has "service_account"`,
    )
  }
  const email = readWord(fields, 'client_email')
  const privateKey = readWord(fields, 'private_key')
  if (email === null || privateKey === null || !privateKey.includes('PRIVATE KEY-----')) {
    throw refused('it lacks client_email or private_key')
  }
  const tokenUri = readWord(fields, 'token_uri') ?? 'https://oauth2.googleapis.com/token'
  if (!isPrivate(tokenUri)) throw refused('its token_uri is no https address')
  return {
    email,
    keyId: readWord(fields, 'private_key_id'),
    privateKey,
    projectId: readWord(fields, 'project_id'),
    tokenUri,
  }
}

/** Who reads an assertion on its way could take it to Google as well. */
function isPrivate(address: string): boolean {
  const url = parseAbsoluteUrl(address)
  if (url === null) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))
}

type Fields = Readonly<Record<string, unknown>>

function parse(text: string): Fields {
  try {
    return JSON.parse(text) as Fields
  } catch {
    throw refused('it begins with a brace and is not JSON')
  }
}

function readWord(fields: Fields, name: string): string | null {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string') return value
  throw refused(`${name} is not a text`)
}

const refused = (why: string): GatewayError =>
  new GatewayError('invalid_request', `the credential cannot be used: ${why}`, {
    param: 'credential',
  })
