/** Everything that the pages say: one dictionary per language, alike by their type. */
import type { html } from 'hono/html'
import type { Language } from './language.ts'
import type { CodeProblem, ErrorKind, SignInProblem } from './view.ts'
import { ENGLISH } from './words-en.ts'
import { RUSSIAN } from './words-ru.ts'

/** Text that is escaped already; a name goes into a sentence as this. */
export type Html = ReturnType<typeof html>

/** A heading, and what it means for the person who reads it. */
export interface ErrorWords {
  readonly heading: string
  readonly meaning: string
}

/** By kind of problem, the sentence about it. */
type Sentences<Problem extends { readonly kind: string }> = {
  readonly [Kind in Problem['kind']]: (problem: Extract<Problem, { kind: Kind }>) => string
}

/** What a dictionary holds. */
export interface Words {
  /** Before the title of a page that tells of a problem. */
  readonly errorPrefix: string
  readonly signIn: {
    readonly heading: string
    readonly title: (client: string) => string
    readonly lead: (client: Html) => Html
    readonly email: string
    readonly emailHint: string
    readonly submit: string
    readonly or: string
    /** Where neither a mail server nor a third party is set. */
    readonly noWay: string
    readonly identity: (name: string) => string
    readonly problems: Sentences<SignInProblem>
  }
  readonly code: {
    readonly heading: string
    /** Where only a new code helps. */
    readonly overHeading: string
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
  readonly onward: {
    readonly heading: string
    readonly link: string
  }
  readonly errors: Readonly<Record<ErrorKind, ErrorWords>>
  readonly errorId: string
  readonly errorIdUse: string
  readonly errorDetail: string
}

/** Scopes that have words of their own. */
export type KnownScope = 'openid' | 'email' | 'profile' | 'offline_access'

const DICTIONARIES: Readonly<Record<Language, Words>> = { en: ENGLISH, ru: RUSSIAN }

export const wordsIn = (language: Language): Words => DICTIONARIES[language]
