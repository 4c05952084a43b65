/** How sign-in codes leave: by the house's mail server, at once and by nobody's leave, tried again while they still help. */
import { type Clock, pause } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import { sendMail } from '#notify/mail.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import type { CodeMail, CodePost } from '#signin/side-house.ts'

export interface CodeOffice {
  readonly post: CodePost
  /** Waits a moment for mails under way, then gives them up: whoever waits for one asks again. */
  close(): Promise<void>
}

const TRY_MS = 15_000
/** A code holds for ten minutes; nobody looks at the page for so long. */
const PAUSES_MS = [3_000, 15_000, 60_000]
const PATIENCE_MS = 2_000
/** One person asks for a handful; more than this is an attack on the mail server. */
const MOST_UNDER_WAY = 100

export function openCodeOffice(
  smtp: SmtpServer,
  clock: Clock,
  logFault: (cause: unknown) => void,
): CodeOffice {
  const cut = new AbortController()
  const underWay = new Set<Promise<void>>()

  const bring = async ({ to, ...mail }: CodeMail): Promise<void> => {
    const id = newEventId(clock.now())
    for (const pauseMs of [...PAUSES_MS, null]) {
      const leash = AbortSignal.any([cut.signal, AbortSignal.timeout(TRY_MS)])
      const outcome = await sendMail(smtp, to, id, mail, leash)
      if (outcome.failure === null || cut.signal.aborted) return
      if (pauseMs === null || outcome.isFinal === true) {
        throw new Error(
          `a sign-in code could not be sent: ${outcome.failure} ${outcome.status ?? ''}`,
        )
      }
      await pause(pauseMs, cut.signal)
    }
  }

  return {
    post: {
      kind: 'mail',
      send(mail) {
        if (underWay.size >= MOST_UNDER_WAY) {
          logFault(new Error('too many sign-in codes are on their way: the mail server is slow'))
          return
        }
        const way: Promise<void> = bring(mail)
          .catch((cause) => {
            if (!cut.signal.aborted) logFault(cause)
          })
          .finally(() => underWay.delete(way))
        underWay.add(way)
      },
    },
    async close() {
      const timer = setTimeout(() => cut.abort(), PATIENCE_MS)
      await Promise.all(underWay)
      clearTimeout(timer)
    },
  }
}
