/** The dependencies of a verb, the same in a running server and in a command that opened the store itself. */
import type { Clock, Instant } from '#domain/clock.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { Probe } from '#domain/probe.ts'
import type { NewProvider } from '#domain/provider.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import type { ClockJump } from '#domain/steady-clock.ts'
import type { CredentialReading, HopReading } from '#domain/walk/hop-health.ts'
import type { PaceReading } from '#domain/walk/hop-pace.ts'
import type { Signup } from '#signin/register/access.ts'
import type { PasskeyPolicy } from '#signin/register/passkey.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Actor } from './actor.ts'

/** State that only a running server has. */
export interface LiveFacts {
  /** `host:port` */
  readonly listen: string
  /** For applications, with `/v1`. */
  readonly baseUrl: string
  /** Where people sign in; null when the sign-in provider is off. */
  readonly authUrl: string | null
  /** Where people look after their account; null when that or the sign-in provider is off. */
  readonly cabinetUrl?: string | null
  /** Whether people can sign in by a code that is sent to their address. */
  readonly mailsCodes?: boolean
  /** Who may sign up (`auth_signup`). */
  readonly signup?: Signup | undefined
  /** Whether people may sign in with passkeys, or must (`auth_passkeys`). */
  readonly passkeys?: PasskeyPolicy | undefined
  /** What the pages are called, and the shades of their colour (`brand.…`). */
  readonly brand?: BrandFacts | undefined
  readonly pid: number
  readonly startedAt: Instant
  /** Says that a mail is in the store. */
  wakeMails(): void
  /** Why the last sign-in code could not be mailed; null once one was, and before the first. */
  codeMailFailure(): CodeMailFailure | null
  /** A jump of the clock by which nothing is deleted yet; null while the clock is believed. */
  clockJump(): ClockJump | null
  /** Hops with recent failures. */
  hops(): readonly HopReading[]
  /** Credentials with recent failures, of providers that have several. */
  credentials(): readonly CredentialReading[]
  /** How many of the processes that serve do not answer. */
  stuckProcesses(): number
  /** Of the hops of routes that ask the fastest first. */
  paces(): readonly PaceReading[]
}

/** The operator's name, logo and colour, as far as they are stated. */
export interface BrandFacts {
  readonly name: string | null
  readonly hasLogo: boolean
  readonly shades: { readonly stated: string; readonly light: string; readonly dark: string } | null
}

/** A failed attempt to mail a sign-in code. */
export interface CodeMailFailure {
  readonly at: Instant
  /** `refused`, `auth`, `status 550`. */
  readonly reason: string
  /** Whether the mail server rejected this one mail, as it does for an address that does not exist. */
  readonly isOfMail: boolean
}

/** Sends one mail now. Resolves with the mail server's reply code, and the class of a failure: `refused`, `auth`, `status`. */
export type MailTrial = (
  to: string,
) => Promise<{ readonly status: number | null; readonly failure: string | null }>

/** How this process is configured to deliver notices. */
export interface DeliveryConfig {
  /** Whether a mail server is configured. */
  readonly smtp: boolean
  /** Sends a trial mail; injected, because `operator` may not import `notify`. Absent without a mail server. */
  readonly tryMail?: MailTrial | undefined
  /** Whether webhooks may go to this machine without TLS, for testing. */
  readonly loopbackWebhooks: boolean
}

/** The built-in provider and its priced models. */
export interface DemoKit {
  readonly provider: NewProvider
  readonly cards: readonly ModelCard[]
}

export interface OperatorDeps {
  readonly store: GatewayStore
  readonly clock: Clock
  readonly version: string
  /** Null for a store in memory. */
  readonly dataDir: string | null
  /** Null while no server runs. */
  readonly live: LiveFacts | null
  /** Requests in progress and the latest that ended, of all nodes; absent where no server runs, and no nodes share the store. */
  readonly watch?: Watch | undefined
  /** The caller, for the log of acts: "uid 1000 (ann)". */
  readonly who: string
  /** The person of an account on whose behalf the verb runs, and who is bounded by it; absent for an operator. */
  readonly actor?: Actor
  readonly delivery: DeliveryConfig
  /** By the settings of a command, where people look after their account; null where they do not say, or it is off. Absent in a gateway. */
  statedCabinetUrl?(): Promise<string | null>
  /** Tests providers; injected, because `operator` may not import `upstream`. */
  readonly probe: Probe
  /** Injected for the same reason; used only by `init`. */
  demoKit(at: Instant): Promise<DemoKit>
}
