/** Where people would sign in, by what this command can read of the configuration. */

import type { Context } from '../context.ts'
import { readServeSettings } from './config.ts'
import { readSigninSettings } from './signin-settings.ts'

/** What a server of this configuration will call itself; a broken one is not this command's affair. */
export function configuredAuthUrl(context: Context): string | null {
  try {
    const { port } = readServeSettings(context, {})
    return readSigninSettings(context, {}, port)?.authUrl ?? null
  } catch {
    return null
  }
}
