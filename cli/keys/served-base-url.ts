/** The base URL for a new key: that of the running gateway, else that of the settings. */
import { existsSync } from 'node:fs'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { readBaseUrl } from '../settings/config.ts'

/** With `/v1`. Falls back to the settings where the gateway does not answer. */
export async function servedBaseUrl(context: Context): Promise<string> {
  const configured = `${readBaseUrl(context)}/v1`
  if (!existsSync(context.adminSocket)) return configured
  try {
    const { base_url: running } = await call(context, 'status', { warnings: false })
    return running ?? configured
  } catch {
    return configured
  }
}
