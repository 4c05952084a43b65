/** The operator's Unix socket. Its file permissions are its only authentication. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'

export interface AdminSocket {
  close(): Promise<void>
}

/** Listens at `path`; a socket left there by a killed server is replaced, because the data directory is locked. */
export function openAdminSocket(
  path: string,
  answer: (request: Request) => Response | Promise<Response>,
): AdminSocket {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(path, { force: true })
  const umask = process.umask(0o077)
  try {
    const server = Bun.serve({
      unix: path,
      development: false,
      ...NO_IDLE_TIMEOUT,
      fetch: answer,
      error: () => Response.json(FAULT, { status: 500 }),
    })
    chmodSync(path, 0o600)
    return {
      async close() {
        await server.stop(true)
        rmSync(path, { force: true })
      },
    }
  } finally {
    process.umask(umask)
  }
}

/** A long audit sends nothing until it is done, and the default is ten seconds. Bun's types lack this option here. */
const NO_IDLE_TIMEOUT: object = { idleTimeout: 0 }

const FAULT = {
  error: { code: 'internal_error', message: 'the gateway failed', param: null, hint: null },
}
