// Types for the parts of oidc-provider in use; the package has none. Its files are imported directly, because its index
// prints a warning on every runtime but Node.

declare module 'oidc-provider/lib/provider.js' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  import type { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
  import type { InteractionPolicy } from 'oidc-provider/lib/helpers/interaction_policy/index.js'

  export type Payload = Readonly<Record<string, unknown>>

  export interface Adapter {
    upsert(id: string, payload: Payload, expiresInSeconds?: number): Promise<void>
    find(id: string): Promise<Payload | undefined>
    findByUid(uid: string): Promise<Payload | undefined>
    findByUserCode(userCode: string): Promise<Payload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export interface Grant {
    readonly jti: string
    addOIDCScope(scope: string): void
    /** Those granted, parted by spaces. */
    getOIDCScope(): string
    save(): Promise<string>
  }

  export interface Session {
    readonly accountId?: string
    readonly loginTs?: number
    readonly acr?: string
    /** In seconds since the Unix epoch; undefined until it is stored. */
    readonly exp?: number
    /** Whether it is to be stored with the answer. */
    touched?: boolean
    readonly state?: { readonly secret: string; readonly postLogoutRedirectUri?: string }
    grantIdFor(clientId: string): string | undefined
  }

  export interface Client {
    readonly clientId: string
    readonly clientName: string
    readonly applicationType: 'native' | 'web'
    /** `none` for a public client. */
    readonly clientAuthMethod: string
    readonly redirectUris: readonly string[]
    readonly clientSecret: string
    readonly require_pkce: boolean
    readonly access: 'everybody' | readonly string[]
    readonly id_token_claims: boolean
    readonly backchannelLogoutUri?: string
    /** Called where somebody signs out. */
    backchannelLogout(subject: string, sid: string): Promise<void>
    compareClientSecret(secret: string): boolean
    redirectUriAllowed(uri: string): boolean
    /** `mode` is the requested one, else the default of the response type. */
    responseModeAllowed(mode: string, responseType: string | undefined): boolean
  }

  export interface Account {
    readonly accountId: string
    /** Our own: whether the person may enter an application. */
    mayEnter(client: Client): boolean
    /** `use`: what they are for. */
    claims(use: 'id_token' | 'userinfo'): Promise<Readonly<Record<string, unknown>>>
  }

  export interface Token {
    readonly accountId: string
    readonly clientId: string
  }

  export interface Context {
    status: number
    type: string
    body: unknown
    /** The client's network address. */
    readonly ip: string
    readonly request: { readonly url: string }
    redirect(address: string): void
    readonly response: { has(name: string): boolean }
    set(name: string, value: string): void
    get(name: string): string
    readonly oidc: {
      readonly provider: Provider
      /** The name of the endpoint, such as `end_session_confirm`. */
      readonly route: string
      /** Not at endpoints without a browser. */
      readonly session: Session
      readonly client?: Client
      readonly entities: {
        readonly Interaction?: Interaction
        readonly DeviceCode?: DeviceCode
        readonly AuthorizationCode?: { readonly accountId: string }
        readonly RefreshToken?: Token
        readonly AccessToken?: Token
      }
      readonly account?: Account
      /** Undefined until they are parsed. */
      readonly params?: Readonly<Record<string, string | undefined>>
      readonly prompts: ReadonlySet<string>
      readonly requestParamOIDCScopes: ReadonlySet<string>
      readonly result?: {
        readonly login?: Login
        /** Our own prompt. */
        readonly passkey?: object
        readonly consent?: { readonly grantId?: string }
      }
      urlFor(name: string): string
    }
  }

  /** How somebody has signed in. Our own: `by`, how they were recognised, and whether they are offered a passkey. */
  export interface Login {
    readonly by?: string
    readonly offersPasskey?: boolean
  }

  /** Sends an authorization response, or an error, to `to`. */
  export type ResponseModeHandler = (
    ctx: Context,
    to: string,
    payload: Payload,
  ) => void | Promise<void>

  export interface Interaction {
    readonly uid: string
    readonly grantId?: string
    readonly params: Readonly<Record<string, string | undefined>>
    /** Where it goes on once it is complete. */
    readonly returnTo: string
    prompt: {
      readonly name: string
      readonly details: { readonly missingOIDCScope?: readonly string[] }
    }
    session?: { readonly accountId: string; readonly amr?: readonly string[] }
    /** Set once the person has completed it. */
    readonly result?: { readonly login?: object }
    /** Of the interaction before this one, of the same request. */
    readonly lastSubmission?: { readonly select_account?: object; readonly login?: Login }
    destroy(): Promise<void>
    /** Stores it for the time that it has left. */
    persist(): Promise<void>
  }

  export interface DeviceCode {
    readonly clientId: string
    readonly accountId?: string
    /** Why the person or the protocol has refused it. */
    readonly error?: string
    /** Set once the person has confirmed it: it cannot be typed again. */
    readonly inFlight?: boolean
    /** Our own: where the device asked from. */
    readonly deviceInfo?: { readonly address: string }
  }

  export interface Configuration {
    readonly [setting: string]: unknown
    readonly interactions: {
      readonly policy: InteractionPolicy
      url(ctx: Context, interaction: Interaction): string
    }
  }

  export interface IdToken {
    /** The claims to take of those that are available. */
    mask: Readonly<Record<string, null>>
    set(claim: string, value: unknown): void
    issue(purpose: { readonly use: 'logout' }): Promise<string>
  }

  interface ModelOf<Instance> {
    readonly name: string
    new (payload?: Payload): Instance
    find(id: string): Promise<Instance | undefined>
    readonly prototype: Instance
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration)
    /** That of the request in progress. */
    static readonly ctx: Context | undefined
    readonly request: object
    readonly Client: ModelOf<Client>
    readonly Grant: ModelOf<Grant>
    /** `get` returns an empty session if the browser sends no cookie. */
    readonly Session: ModelOf<Session> & {
      get: (
        ctx: Context | { readonly req: IncomingMessage; readonly res: ServerResponse },
      ) => Promise<Session>
    }
    readonly Interaction: ModelOf<Interaction>
    readonly IdToken: new (
      available: Payload,
      of: { readonly client: Client },
    ) => IdToken
    readonly AccessToken: ModelOf<object>
    readonly AuthorizationCode: ModelOf<object>
    readonly RefreshToken: ModelOf<object>
    readonly DeviceCode: ModelOf<DeviceCode> & {
      /** By the code as `normalize` returns it; undefined if it has expired. */
      findByUserCode(userCode: string): Promise<DeviceCode | undefined>
    }
    registerResponseMode(name: string, handler: ResponseModeHandler): void
    callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>
    use(middleware: (ctx: Context, next: () => Promise<void>) => Promise<void>): this
    on(event: 'server_error', listener: (ctx: Context, cause: unknown) => void): this
    on(event: 'error', listener: (cause: unknown) => void): this
    on(
      event: 'authorization.success' | 'end_session.success' | 'device_authorization.success',
      listener: (ctx: Context) => void,
    ): this
    on(
      event: 'interaction.started',
      listener: (ctx: Context, prompt: { readonly name: string }) => void,
    ): this
    on(
      event:
        | 'authorization.error'
        | 'grant.error'
        | 'revocation.error'
        | 'end_session.error'
        | 'device_authorization.error'
        | 'code_verification.error'
        | 'device_resume.error',
      listener: (ctx: Context, cause: OIDCProviderError) => void,
    ): this
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
    interactionFinished(
      req: IncomingMessage,
      res: ServerResponse,
      result: Readonly<Record<string, unknown>>,
      options: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>
  }
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  export class InvalidGrant extends Error {
    constructor(detail: string)
  }
  export class InvalidRedirectUri extends Error {}
  export class InvalidRequest extends Error {
    constructor(description: string)
  }
  export class LoginRequired extends Error {
    constructor(description: string)
  }
  export class UnsupportedResponseMode extends Error {}
  export class SessionNotFound extends Error {}
  export class OIDCProviderError extends Error {
    constructor(status: number, error: string)
    /** Whether the error may be returned to the client by a redirect. */
    allow_redirect: boolean
    readonly error: string
    readonly error_description?: string
    readonly error_detail?: string
  }
}

declare module 'oidc-provider/lib/helpers/re_render_errors.js' {
  /** What a person did to the code of a device, and is told where they type it. */
  export class ReRenderError extends Error {}
  /** The person has said no. */
  export class AbortedError extends ReRenderError {}
}

declare module 'oidc-provider/lib/helpers/user_codes.js' {
  /** In capitals, without what stands between. */
  export function normalize(typed: string): string
  /** As the device shows it. */
  export function denormalize(normalized: string, mask: string): string
}

declare module 'oidc-provider/lib/helpers/jwt.js' {
  /** Decodes without verifying. */
  export function decode(token: string): { readonly payload: { readonly sub?: string } }
}

declare module 'oidc-provider/lib/response_modes/query.js' {
  import type { ResponseModeHandler } from 'oidc-provider/lib/provider.js'

  const query: ResponseModeHandler
  export default query
}

declare module 'oidc-provider/lib/helpers/interaction_policy/index.js' {
  import type { Context } from 'oidc-provider/lib/provider.js'

  export class Check {
    /** `error` is the response to `prompt=none`. */
    constructor(
      reason: string,
      description: string,
      error: string | undefined,
      check: (ctx: Context) => boolean,
    )
    static readonly REQUEST_PROMPT: true
    static readonly NO_NEED_TO_PROMPT: false
  }
  export class Prompt {
    constructor(
      prompt: { readonly name: string; readonly requestable: boolean },
      ...checks: readonly Check[]
    )
  }
  export interface InteractionPolicy {
    get(name: string): { readonly checks: { add(check: Check): void } } | undefined
    /** At this place of the order in which prompts are judged. */
    add(prompt: Prompt, place: number): void
  }
  export const base: () => InteractionPolicy
}
