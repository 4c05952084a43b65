/** The questions of `init` at a terminal, before anything is created: three, each with a default. */
import { existsSync } from 'node:fs'
import * as z from 'zod/mini'
import { PROVIDER_PRESETS } from '#domain/provider.ts'
import { nearest } from '#forms/nearest.ts'
import { credentialField } from '#operator/providers.ts'
import { emailField } from '#operator/threshold-fields.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readSecretInput } from '../flags/read-secret.ts'
import { DEFAULT_LISTEN, readListen } from '../settings/config.ts'
import { readAnswer, rejectOnExit } from '../terminal/prompt.ts'
import { writeError } from '../terminal/streams.ts'

/** Null is the default: the usual address, no alerts, the demo models only. */
export interface Answers {
  readonly listen: string | null
  readonly email: string | null
  readonly provider: { readonly name: string; readonly credential: string } | null
}

/** Asks all questions; nothing is changed until all are answered. @throws CommandError 5 at the end of input, 130 for Ctrl-C */
export async function askQuestions(context: Context): Promise<Answers> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const left = rejectOnExit(terminal, 'nothing was created')
  const ask = async <Answer>(question: string, read: (text: string) => Answer) => {
    for (;;) {
      const text = await readAnswer(terminal, question, left)
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
    terminal.close()
    const provider = name === null ? null : { name, credential: await askCredential(context) }
    return { listen, email, provider }
  } finally {
    terminal.close()
  }
}

/** Not asked where a configuration file or a variable may set it. */
const isListenOpen = ({ env, configFile }: Context): boolean =>
  !env['GATEWAY_LISTEN'] && !existsSync(configFile.path)

/** Provider types with a default base URL. */
const VENDORS = Object.entries(PROVIDER_PRESETS).flatMap(([type, { family, baseUrl }]) =>
  family === 'demo' || baseUrl === null ? [] : [type],
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

function readVendor(text: string): string {
  const name = text.toLowerCase()
  if (VENDORS.includes(name)) return name
  const meant = nearest(name, VENDORS)
  throw usageError(
    meant === undefined
      ? `"${text}" is not in the list; to add another provider later: gatewayctl providers add NAME --base-url URL`
      : `"${text}" is not in the list; did you mean ${meant}?`,
  )
}

/** A hidden prompt. An invalid credential is refused before anything is created. @throws CommandError 2, 5, 130 */
async function askCredential(context: Context): Promise<string> {
  const credential = (await readSecretInput(context, {})) ?? ''
  const read = z.safeParse(credentialField, credential)
  if (read.success) return read.data
  throw usageError(`the credential ${read.error.issues[0]?.message ?? 'is not valid'}`)
}
