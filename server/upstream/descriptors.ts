/** Whether this very process, or the whole machine, has run out of descriptors: the runtime tells that as a refused connection. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { GatewayError } from '#domain/errors.ts'
import { systemCodeOf } from '#domain/system-code.ts'

/** Descriptors are free as soon as other requests end. */
const RETRY_SECONDS = 1

/** Of the process, and of the machine. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Read at the start: there is no descriptor to read it with when it is told. Null where the system does not tell. */
const mostOpenFiles = readLimit()

function readLimit(): number | null {
  try {
    const [, most] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return most === undefined ? null : Number(most)
  } catch {
    return null
  }
}

/** Asked right after a connection has failed with `cause`; null where a descriptor can be had: then it was the provider. */
export function descriptorsExhausted(cause: unknown): GatewayError | null {
  const code = [systemCodeOf(cause), probeDescriptor()].find((one) => EXHAUSTED.has(one))
  if (code === undefined) return null
  const isOwn = code === 'EMFILE'
  const all = mostOpenFiles === null ? 'all of its' : `all ${mostOpenFiles} of its`
  return new GatewayError(
    'descriptors_exhausted',
    isOwn
      ? `the gateway cannot connect to a provider: ${all} file descriptors are in use; ask again in a moment, or have its operator raise the limit (LimitNOFILE)`
      : 'the gateway cannot connect to a provider: its machine has no file descriptor left; ask again in a moment, or have its operator raise the limit (fs.file-max)',
    {
      metadata: {
        limit: isOwn ? 'open_files' : 'open_files_of_machine',
        ...(isOwn && mostOpenFiles !== null && { limit_value: mostOpenFiles, used: mostOpenFiles }),
        resets_at: null,
      },
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    },
  )
}

/** The code by which the system refuses one; empty where it gives one. */
function probeDescriptor(): string {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return ''
  } catch (thrown) {
    return systemCodeOf(thrown)
  }
}
