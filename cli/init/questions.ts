/** The questions of `init` at a terminal, before anything is created: three, each with a default. */
import { existsSync } from 'node:fs'
import * as z from 'zod/mini'
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { isProviderType, PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { GLOBAL, isRegion, regionalAddress, regionOf } from '#domain/region.ts'
import { nearest } from '#forms/nearest.ts'
import { checkCredential, credentialField } from '#operator/credential.ts'
import { baseUrlFor } from '#operator/provider-address.ts'
import { emailField } from '#operator/threshold-fields.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { DEFAULT_LISTEN, readListen } from '../settings/config.ts'
import { openPrompt } from '../terminal/prompt.ts'
import { writeError } from '../terminal/streams.ts'

/** Null is the default: the usual address, no alerts, the demo models only. */
export interface Answers {
  readonly listen: string | null
  readonly email: string | null
  readonly provider: {
    readonly name: string
    readonly region?: string
    readonly credential: string
  } | null
}

/** Asks all questions; nothing is changed until all are answered. @throws CommandError 5 at the end of input, 130 for Ctrl-C */
export async function askQuestions(context: Context): Promise<Answers> {
  const prompt = await openPrompt('nothing was created')
  const ask = async <Answer>(question: string, read: (text: string) => Answer) => {
    for (;;) {
      const text = await prompt.ask(question)
      try {
        return text === '' ? null : read(text)
      } catch (thrown) {
        writeError(`  ${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
      }
    }
  }
  try {
    const listen = isListenOpen(context)
      ? await ask(`address to listen on [${DEFAULT_LISTEN}]: `, readAddress)
      : null
    const email = await ask('e-mail for low-balance alerts [none]: ', readEmail)
    const name = await ask(`provider (${VENDORS.join(' ')}) [demo only]: `, readVendor)
    if (name === null) return { listen, email, provider: null }
    const region = await askRegion(ask, name)
    const keyFile = await askKeyFile(ask, name)
    prompt.close()
    const credential = await readCredential(context, keyFile === null ? {} : { keyFile })
    const place = region === null ? {} : { region }
    checkCredential({ type: name, baseUrl: baseUrlFor(name, place) }, credential)
    return { listen, email, provider: { name, ...place, credential } }
  } finally {
    prompt.close()
  }
}

/** Not asked where a configuration file or a variable may set it. */
const isListenOpen = ({ env, configFile }: Context): boolean =>
  !env['GATEWAY_LISTEN'] && !existsSync(configFile.path)

/** Provider types with a default base URL. */
const VENDORS = Object.entries(PROVIDER_PRESETS).flatMap(([type, { family, baseUrl }]) =>
  family === 'demo' || baseUrl === null || !isProviderType(type) ? [] : [type],
)

function readAddress(text: string): string {
  readListen(text, 'the address', DEFAULT_LISTEN)
  return text
}

function readEmail(text: string): string {
  const email = z.safeParse(emailField, text)
  if (email.success) return email.data
  throw usageError('it must be an e-mail address such as ops@example.org')
}

function readVendor(text: string): ProviderType {
  const name = text.toLowerCase()
  const vendor = VENDORS.find((type) => type === name)
  if (vendor !== undefined) return vendor
  const meant = nearest(name, VENDORS)
  throw usageError(
    meant === undefined
      ? `"${text}" is not in the list; to add another provider later: gatewayctl providers add NAME --base-url URL`
      : `"${text}" is not in the list; did you mean ${meant}?`,
  )
}

type Ask = <Answer>(question: string, read: (text: string) => Answer) => Promise<Answer | null>

/** Of a cloud; null for its usual one. */
const askRegion = async (ask: Ask, type: ProviderType): Promise<string | null> =>
  regionalAddress(type, GLOBAL) === null
    ? null
    : await ask(`region [${regionOf(type, usualHost(type)) ?? GLOBAL}]: `, readRegion)

const usualHost = (type: ProviderType): string =>
  parseAbsoluteUrl(PROVIDER_PRESETS[type].baseUrl ?? '')?.hostname ?? ''

function readRegion(text: string): string {
  if (isRegion(text)) return text
  throw usageError('it must be a region such as eu-central-1')
}

/** A key file has many lines, which cannot be typed; null for a type whose credential is one. */
const askKeyFile = async (ask: Ask, type: ProviderType): Promise<string | null> =>
  PROVIDER_PRESETS[type].cloud === 'google'
    ? ((await ask('key file of the service account: ', readKeyFile)) ?? '')
    : null

function readKeyFile(path: string): string {
  if (existsSync(path)) return path
  throw usageError(`there is no file ${path}`)
}

/**
 * From the file, else by a hidden prompt. An invalid credential is refused before anything is created.
 * @throws CommandError 2, 5, 130
 */
async function readCredential(context: Context, flags: SecretFlags): Promise<string> {
  const credential = (await readSecretInput(context, flags)) ?? ''
  const read = z.safeParse(credentialField, credential)
  if (read.success) return read.data
  throw usageError(`the credential ${read.error.issues[0]?.message ?? 'is not valid'}`)
}
