/** The base URL for a new key: that of the running gateway, else that of the settings. */
import { existsSync } from 'node:fs'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { readBaseUrl } from '../settings/config.ts'

/** With `/v1`. Falls back to the settings where the gateway does not answer. */
export async function whereServed(context: Context): Promise<string> {
  const settled = `${readBaseUrl(context)}/v1`
  if (!existsSync(context.adminSocket)) return settled
  try {
    const { base_url: running } = await call(context, 'status', { warnings: false })
    return running ?? settled
  } catch {
    return settled
  }
}
