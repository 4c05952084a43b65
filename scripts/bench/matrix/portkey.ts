/** Portkey's gateway on Node, from wherever the operator installed it (`npm install --prefix DIR @portkey-ai/gateway`). */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort, type Measured, startAt } from '../process.ts'
import { MEASURED_CORE } from '../rig.ts'

const SERVER = 'node_modules/@portkey-ai/gateway/build/start-server.js'

/** @throws Error when it is not there */
export function startPortkey(dir: string): Promise<Measured> {
  const file = resolve(join(dir, SERVER))
  if (!existsSync(file)) throw new Error(`--portkey: there is no ${file}`)
  const port = freePort()
  const command = ['node', file, `--port=${port}`, '--headless']
  return startAt(port, command, MEASURED_CORE, { NODE_ENV: 'production' })
}
