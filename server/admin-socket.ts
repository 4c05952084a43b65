/** The operator's Unix socket. Its file permissions are its only authentication. */
import { chmodSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { within } from '#domain/within.ts'

export interface AdminSocket {
  /** Waits briefly for answers that are being made. */
  close(): Promise<void>
}

type Answer = (request: Request) => Response | Promise<Response>

/** Listens before there is an answer: what comes meanwhile waits for it. */
export interface AdminDoor {
  open(answer: Answer): AdminSocket
}

/**
 * Listens at `path`. A socket left there by a killed server is replaced, because the data directory is locked; with `made`, where it
 * is made, that of a running one is, from one moment to the next.
 */
export function openAdminDoor(path: string, made = path): AdminDoor {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(made, { force: true })
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const umask = process.umask(0o077)
  try {
    const server = Bun.serve({
      unix: made,
      development: false,
      ...NO_IDLE_TIMEOUT,
      fetch: async (request) => (await promise)(request),
      error: () => Response.json(FAULT, { status: 500 }),
    })
    chmodSync(made, 0o600)
    renameSync(made, path)
    const { ino } = statSync(path)
    return {
      open(answer) {
        resolve(answer)
        return {
          async close() {
            // It removes whatever is at its path, also what another gateway has put there.
            const others = renamedAway(path, ino)
            const stopping = server.stop()
            if (others !== null) renameSync(others, path)
            await within(stopping, LAST_ANSWERS_MS)
            await server.stop(true)
          },
        }
      },
    }
  } finally {
    process.umask(umask)
  }
}

/** Where it is now, if it is another's; null otherwise. */
function renamedAway(path: string, ino: number): string | null {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.ino === ino) return null
  const kept = `${path}.kept`
  renameSync(path, kept)
  return kept
}

/** Those who watch never end by themselves. */
const LAST_ANSWERS_MS = 500

/** A long audit sends nothing until it is done, and the default is ten seconds. Bun's types lack this option here. */
const NO_IDLE_TIMEOUT: object = { idleTimeout: 0 }

const FAULT = {
  error: { code: 'internal_error', message: 'the gateway failed', param: null, hint: null },
}
