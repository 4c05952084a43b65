/** The address that a key is for: that of the gateway which runs, else the one that the settings name. */
import { existsSync } from 'node:fs'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { readBaseUrl } from '../settings/config.ts'

/** As applications type it, `/v1` included. A gateway that does not answer is not this command's affair. */
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
