/** The type of the texts of the pages, of which each language has a dictionary. */
import type { Html } from '#pages/html.ts'
import type {
  CodeProblem,
  DeviceProblem,
  ErrorKind,
  PasskeyProblem,
  SignInProblem,
} from './view.ts'

/** A heading and its explanation. */
export interface ErrorWords {
  readonly heading: string
  readonly meaning: string
}

/** A sentence for each kind of problem. */
type Sentences<Problem extends { readonly kind: string }> = {
  readonly [Kind in Problem['kind']]: (problem: Extract<Problem, { kind: Kind }>) => string
}

/** The dictionary of one language. */
export interface Words {
  /** Prefix of the page title if there is a problem. */
  readonly errorPrefix: string
  readonly signIn: {
    readonly heading: string
    readonly title: (client: string) => string
    readonly lead: (client: Html) => Html
    readonly email: string
    readonly emailHint: string
    readonly submit: string
    readonly or: string
    /** Shown if neither a mail server nor an identity provider is configured. */
    readonly noMethod: string
    readonly identity: (name: string) => string
    readonly continueAs: (email: Html) => Html
    readonly passkey: string
    readonly problems: Sentences<Exclude<SignInProblem, PasskeyProblem>>
  }
  readonly code: {
    readonly heading: string
    /** Shown if a new code is needed. */
    readonly newCodeHeading: string
    readonly title: (client: string) => string
    readonly sentByMail: (email: Html, minutes: number) => Html
    readonly sentToLog: (email: Html, minutes: number) => Html
    readonly sentAgain: string
    readonly code: string
    readonly submit: string
    readonly resend: string
    readonly restart: string
    readonly problems: Sentences<CodeProblem>
  }
  readonly passkey: {
    readonly heading: string
    readonly title: (client: string) => string
    readonly meaning: (email: Html) => Html
    readonly submit: string
    readonly restart: string
    /** Said while the browser, or its lack of scripts, keeps from it. */
    readonly missing: string
    /** Said where the browser or the device gave no answer. */
    readonly failed: string
    readonly problems: Sentences<PasskeyProblem>
  }
  readonly newPasskey: {
    readonly heading: string
    readonly meaning: string
    readonly requiredHeading: string
    readonly requiredMeaning: string
    readonly submit: string
    readonly skip: string
    /** Said where the device has one already. */
    readonly known: string
  }
  readonly consent: {
    readonly heading: (client: Html) => Html
    readonly title: (client: string) => string
    readonly lead: string
    readonly signedInAs: (email: Html) => Html
    readonly scopes: Readonly<Record<KnownScope, string>>
    readonly otherScope: (scope: Html) => Html
    readonly allow: string
    readonly deny: string
  }
  readonly device: {
    readonly heading: string
    readonly lead: string
    readonly code: string
    readonly codeHint: string
    readonly submit: string
    readonly problems: Sentences<DeviceProblem>
    readonly confirmHeading: (client: Html) => Html
    readonly confirmTitle: (client: string) => string
    readonly check: (client: Html) => Html
    /** How people are robbed by a code that somebody else gave them. */
    readonly warning: string
    readonly askedFrom: (address: Html) => Html
    readonly signedInAs: (email: Html) => Html
    readonly confirm: string
    readonly deny: string
    readonly doneHeading: string
    readonly done: (client: Html, email: Html) => Html
    readonly deniedHeading: string
    readonly denied: string
  }
  readonly signOut: {
    readonly heading: string
    readonly asked: (client: Html) => Html
    readonly signedInAs: (email: Html) => Html
    readonly submit: string
    readonly stay: string
  }
  readonly signedOut: {
    readonly heading: string
    readonly meaning: string
    readonly meaningWithClient: (client: Html) => Html
  }
  readonly stayed: {
    readonly heading: string
  }
  readonly disabled: {
    readonly heading: string
    readonly meaning: (email: Html) => Html
    readonly restart: string
  }
  readonly notAllowed: {
    readonly title: (client: string) => string
    readonly heading: (client: Html) => Html
    readonly meaning: (email: Html) => Html
    readonly unproved: (email: Html) => Html
    readonly prove: string
    readonly ask: (contact: Html) => Html
    readonly askOperator: string
    readonly leave: (client: Html) => Html
    readonly restart: string
  }
  readonly onward: {
    readonly heading: string
    readonly link: string
  }
  readonly errors: Readonly<Record<ErrorKind, ErrorWords>>
  readonly errorId: string
  readonly errorIdUse: string
  readonly errorDetail: string
}

/** Scopes with a translated description. */
export type KnownScope = 'openid' | 'email' | 'profile' | 'groups' | 'offline_access'
