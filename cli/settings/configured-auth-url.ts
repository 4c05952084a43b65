/** The URL of the sign-in provider by the configuration, without a running gateway. */
import type { Context } from '../context.ts'
import { readServeSettings } from './config.ts'
import { readSigninSettings } from './signin-settings.ts'

/** Null where sign-in is off or the configuration is invalid. */
export function configuredAuthUrl(context: Context): string | null {
  try {
    const { port } = readServeSettings(context, {})
    return readSigninSettings(context, {}, port)?.authUrl ?? null
  } catch {
    return null
  }
}
