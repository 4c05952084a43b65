/** Settings for delivering notices: the mail server, and permitted webhook addresses; variable > file. */
import { readSender, readSmtpUrl, type SmtpServer } from '#notify/smtp-server.ts'
import type { WebhookPermissions } from '#notify/webhook-policy.ts'
import type { DeliveryConfig, MailTrial } from '#operator/deps.ts'
import type { GatewayOptions } from '#server/gateway.ts'
import { mailTrial } from '#server/trial-mail.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { readBrandName } from './brand-settings.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { type FoundSetting, findSetting, variableOf } from './find-setting.ts'
import { readSettingFile } from './setting-file.ts'

export type DeliverySettings = NonNullable<GatewayOptions['delivery']>

const URL_VARIABLE = variableOf('smtp.url')
const URL_FILE_VARIABLE = `${URL_VARIABLE}_FILE`
const LOOPBACK_VARIABLE = 'GATEWAY_ALLOW_LOOPBACK_WEBHOOKS'

/** For a serving process. @throws CommandError 2 for a bad value, 1 for an unreadable file; never with the password */
export function readDeliverySettings(context: Context): DeliverySettings {
  const file = readConfigFile(context)
  const { env } = context
  return { smtp: readSmtp(env, file), webhooks: readLeave(env, file) }
}

/** For a command: only whether delivery is configured. An invalid configuration counts as none. */
export function readDelivery(context: Context): DeliveryConfig {
  const { env } = context
  const file = readOrEmpty(context)
  const smtp = Boolean(env[URL_FILE_VARIABLE] || findSetting(env, file, 'smtp.url'))
  const tryMail: MailTrial = async (to) => {
    const server = readSmtp(env, file)
    if (server === null) return { status: null, failure: 'no_smtp' }
    return await mailTrial(server, context.clock)(to)
  }
  return { smtp, tryMail: smtp ? tryMail : undefined, loopbackWebhooks: isSet(env) }
}

function readOrEmpty(context: Context): ConfigFile {
  try {
    return readConfigFile(context)
  } catch {
    return {}
  }
}

const isSet = (env: Environment): boolean => env[LOOPBACK_VARIABLE] === '1'

function readLeave(env: Environment, file: ConfigFile): WebhookPermissions {
  const found = findSetting(env, file, 'network.allow_private_webhooks')
  return { loopback: isSet(env), private: found !== undefined && readFlag(found) }
}

function readFlag({ name, text }: FoundSetting): boolean {
  if (['1', 'true'].includes(text)) return true
  if (['0', 'false'].includes(text)) return false
  throw usageError(`${name} must be 1 or 0 (got "${text}")`)
}

function readSmtp(env: Environment, file: ConfigFile): SmtpServer | null {
  const url = readUrlFile(env) ?? findSetting(env, file, 'smtp.url')
  if (url === undefined) return null
  // The value holds a password, so the error does not repeat it.
  const server = readSmtpUrl(url.text.trim())
  if (server === undefined) {
    throw usageError(`${url.name} must be smtp://user:password@host:587, or smtps:// for port 465`)
  }
  const from = findSetting(env, file, 'smtp.from')
  if (from === undefined) {
    throw usageError(
      'a mail server is set, but no sender address',
      `${variableOf('smtp.from')}='Gateway <gateway@example.org>'`,
    )
  }
  if (readSender(from.text) === undefined) {
    throw usageError(`${from.name} must be one address (got "${from.text}")`)
  }
  return { ...server, from: from.text.trim(), brand: readBrandName(env, file) }
}

function readUrlFile(env: Environment): FoundSetting | undefined {
  const path = env[URL_FILE_VARIABLE]
  if (!path) return undefined
  return { text: readSettingFile(path, URL_FILE_VARIABLE), name: URL_FILE_VARIABLE }
}
