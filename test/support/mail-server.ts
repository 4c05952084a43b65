/** A real SMTP server on loopback: it keeps the mails that it took, and refuses what a test says. */
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'

export interface TakenMail {
  readonly from: string
  readonly to: readonly string[]
  /** As it came over the wire. */
  readonly source: string
  readonly isSecure: boolean
  readonly user: string | null
}

export interface MailServer {
  readonly port: number
  readonly taken: TakenMail[]
  /** Recipients asked for, also those that were refused. */
  readonly asked: string[]
  close(): Promise<void>
}

export interface MailBehaviour {
  /** The reply code for the nth recipient asked for, counted from 0; 250 takes it. */
  readonly reply?: (nth: number) => number
  /** The same after the text has come. */
  readonly lastReply?: (nth: number) => number
  readonly login?: { readonly user: string; readonly password: string }
  readonly options?: SMTPServerOptions
}

const refusal = (code: number): Error =>
  Object.assign(new Error('secret words of the server'), { responseCode: code })

/** Open until it is closed. */
export async function openMailServer(behaviour: MailBehaviour = {}): Promise<MailServer> {
  const { reply = () => 250, lastReply = () => 250, login, options } = behaviour
  const taken: TakenMail[] = []
  const asked: string[] = []
  let texts = 0
  const server = new SMTPServer({
    authOptional: login === undefined,
    disabledCommands: login === undefined ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    onAuth({ username, password }, _session, done) {
      const fits = username === login?.user && password === login?.password
      if (fits) done(null, { user: username })
      else done(new Error('no'))
    },
    onRcptTo({ address }, _session, done) {
      const code = reply(asked.push(address) - 1)
      done(code === 250 ? null : refusal(code))
    },
    onData(stream, { envelope, secure, user }, done) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const code = lastReply(texts++)
        if (code !== 250) return done(refusal(code))
        taken.push({
          from: envelope.mailFrom === false ? '' : (envelope.mailFrom?.address ?? ''),
          to: envelope.rcptTo.map(({ address }) => address),
          source: Buffer.concat(pieces).toString(),
          isSecure: secure,
          user: typeof user === 'string' ? user : null,
        })
        done()
      })
    },
    ...options,
  })
  // A client that leaves is what some tests are about.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    taken,
    asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** For one test. */
export async function startMailServer(behaviour: MailBehaviour = {}): Promise<MailServer> {
  const server = await openMailServer(behaviour)
  onTestFinished(() => server.close())
  return server
}
