/** What a page shows and where its forms go: all that the pages of the sign-in provider know about it (spec §4.6). */

/** Where a form posts, and what it carries unseen: the CSRF token, the interaction's id. */
export interface Form {
  /** A path of the sign-in listener, such as `/sign-in/abc/code`. */
  readonly action: string
  /** Name → value of each hidden field. */
  readonly hidden: Readonly<Record<string, string>>
}

/** A third-party identity that a person may sign in with; its button posts `form`. */
export interface IdentityChoice {
  /** As a person knows it: `Google`, `GitHub`. */
  readonly name: string
  readonly form: Form
}

/** Why the sign-in page is shown again. */
export type SignInProblem =
  /** What was typed is not an e-mail address. */
  | { readonly kind: 'unreadable' }
  /** Codes were asked for too often, for this address or from this network. */
  | { readonly kind: 'too-many-codes'; readonly minutes: number }
  /** The person said no at the third party, or it did not let them in. */
  | { readonly kind: 'identity-refused'; readonly name: string }
  /** The third party could not be reached, or answered what it should not. */
  | { readonly kind: 'identity-failed'; readonly name: string }
  /** Nobody has come by it before: the person proves an address by a code first. No fault of anybody's. */
  | { readonly kind: 'identity-unproved'; readonly name: string }
  /** The same, where no code can be sent. */
  | { readonly kind: 'identity-unknown'; readonly name: string }
  /** The operator took the third party away in the meantime. */
  | { readonly kind: 'identity-gone' }

/** Where a person says who they are. */
export interface SignInView {
  readonly page: 'sign-in'
  readonly clientName: string
  /** Posts `email`. Absent where nobody signs in by e-mail. */
  readonly form?: Form | undefined
  /** What was typed before, or the client's `login_hint`. */
  readonly email?: string | undefined
  readonly problem?: SignInProblem | undefined
  readonly identities: readonly IdentityChoice[]
}

/** What is wrong with a code, or with asking for another. */
export type CodeProblem =
  /** Not the code; so many tries are left, at least one. */
  | { readonly kind: 'wrong'; readonly attemptsLeft: number }
  /** Not eight digits: no try was taken. */
  | { readonly kind: 'unreadable' }
  /** The code's time is over. Only a new one helps, so the field is not shown. */
  | { readonly kind: 'expired' }
  /** No try is left. Only a new code helps, so the field is not shown. */
  | { readonly kind: 'spent' }
  /** Another code was asked for too soon; the old one still holds. */
  | { readonly kind: 'too-many-codes'; readonly minutes: number }

/** Where a person types the code that they were sent. It looks the same for an address nobody knows (hardening §3.1). */
export interface CodeView {
  readonly page: 'code'
  readonly clientName: string
  readonly email: string
  /** Posts `code`, as typed: white space and hyphens are the reader's to drop. */
  readonly form: Form
  /** Asks for another code. */
  readonly resend: Form
  /** Goes back to the sign-in page. */
  readonly restart: Form
  /** How long a code holds. */
  readonly minutes: number
  /** Where the code went: to the address, or, with no mail server in demo mode, to the server's log. */
  readonly sentTo: 'mail' | 'log'
  /** True right after another code was sent. */
  readonly sentAgain?: boolean | undefined
  readonly problem?: CodeProblem | undefined
}

/** Where a person lets a client know who they are, when it asks for that. */
export interface ConsentView {
  readonly page: 'consent'
  readonly clientName: string
  /** Who is signed in. */
  readonly email: string
  /** What the client asks for: `openid`, `email`, `profile`, `offline_access`; any other is shown as it is. */
  readonly scopes: readonly string[]
  /** Posts `decision`: `allow` or `deny`. */
  readonly form: Form
}

/** Where a person says whether to sign out, when a client sent them here for that. */
export interface SignOutView {
  readonly page: 'sign-out'
  readonly clientName?: string | undefined
  readonly email?: string | undefined
  /** Posts `logout=yes`, or nothing when the person stays. */
  readonly form: Form
}

/** Where a person lands who has signed out and has nowhere to return to. */
export interface SignedOutView {
  readonly page: 'signed-out'
  readonly clientName?: string | undefined
}

/** Where a person lands who was asked whether to sign out, and stays. */
export interface StayedView {
  readonly page: 'stayed'
  readonly clientName?: string | undefined
  readonly email: string
}

/** Where a person lands whom the operator has disabled; shown only after they proved who they are. */
export interface DisabledView {
  readonly page: 'disabled'
  readonly email: string
  /** Signs in as somebody else; absent where there is no interaction left. */
  readonly restart?: Form | undefined
}

/**
 * Answers a post (200) and sends the browser on by a GET of its own. Chromium holds every redirect that follows a form
 * against the page's `form-action`, those of the client too, and a client's callback may well redirect to another
 * origin; a navigation of this page is no form's any more.
 */
export interface OnwardView {
  readonly page: 'onward'
  /** A path of the listener (where the interaction resumes), or an address with a scheme. Never what a browser sent. */
  readonly to: string
}

/** What went wrong, as far as the person in front of the page is concerned. */
export type ErrorKind =
  /** No such client (contract §10: a page, no redirect). */
  | 'unknown-client'
  /** The client asks for an address that is not registered (contract §10: a page, no redirect). */
  | 'unregistered-redirect'
  /** The request itself is not one that can be answered. */
  | 'bad-request'
  /** The interaction is over: too old, or already used. */
  | 'expired'
  /** The form came without the cookie of its interaction, or from another site. */
  | 'other-browser'
  | 'not-found'
  | 'too-many-requests'
  /** Our own failure. */
  | 'failed'

/** Where a person lands when nothing else can be said. It never redirects. */
export interface ErrorView {
  readonly page: 'error'
  readonly kind: ErrorKind
  /** By which the operator finds it in the log; absent where nothing was logged. */
  readonly errorId?: string | undefined
  /** OAuth's own words for the client's developer: `invalid_redirect_uri`, and a sentence. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
}

export type PageView =
  | SignInView
  | CodeView
  | ConsentView
  | SignOutView
  | SignedOutView
  | StayedView
  | DisabledView
  | OnwardView
  | ErrorView
