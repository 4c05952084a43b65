/** The views: what each page shows and where its forms post. Pages depend on nothing else (contract §10). */
import type { Form } from '#pages/html.ts'

/** A third-party identity that a person may sign in with; its button posts `form`. */
export interface IdentityChoice {
  /** Its label: `Google`, `GitHub`. */
  readonly name: string
  /** A vendor's mark on the button. */
  readonly mark?: 'google' | 'github' | undefined
  readonly form: Form
}

/** Why the sign-in page is shown again. */
export type SignInProblem =
  /** The input is not an e-mail address. */
  | { readonly kind: 'unreadable' }
  /** Too many codes were requested for this address or from this network. */
  | { readonly kind: 'too-many-codes'; readonly minutes: number }
  /** The person or the third party denied the request. */
  | { readonly kind: 'identity-refused'; readonly name: string }
  /** The third party could not be reached, or its response was invalid. */
  | { readonly kind: 'identity-failed'; readonly name: string }
  /** The identity is not linked yet: the person first verifies an address by a code. Not an error. */
  | { readonly kind: 'identity-unproved'; readonly name: string }
  /** The same without a mail server, so that no code can be sent. */
  | { readonly kind: 'identity-unknown'; readonly name: string }
  /** The operator removed the identity provider in the meantime. */
  | { readonly kind: 'identity-gone' }
  | PasskeyProblem

/** What was wrong with a passkey. */
export type PasskeyProblem =
  /** The answer came too late, or twice. */
  | { readonly kind: 'passkey-gone' }
  /** It is not known here, is somebody else's, or is not right. */
  | { readonly kind: 'passkey-refused' }
  /** It was added before. */
  | { readonly kind: 'passkey-known' }
  /** The person has as many as there may be. */
  | { readonly kind: 'passkey-too-many' }

/** A form that asks the browser for a passkey. */
export interface PasskeyAsked {
  readonly form: Form
  /** What the browser passes to the device, as JSON. */
  readonly options: string
}

/** The sign-in page. */
export interface SignInView {
  readonly page: 'sign-in'
  readonly clientName: string
  /** Posts `email`. Absent if signing in by e-mail is disabled. */
  readonly form?: Form | undefined
  /** The previous input, or the client's `login_hint`. */
  readonly email?: string | undefined
  readonly problem?: SignInProblem | undefined
  readonly identities: readonly IdentityChoice[]
  /** Who is signed in, and may go on as such. */
  readonly current?: { readonly email: string; readonly form: Form } | undefined
  /** Posts `response`: what the device said. Absent where there are no passkeys. */
  readonly passkey?: PasskeyAsked | undefined
  /** The path of the script that the page runs, if any. */
  readonly script?: string | undefined
}

/** Why a code, or a request for another one, was refused. */
export type CodeProblem =
  /** A wrong code; at least one attempt is left. */
  | { readonly kind: 'wrong'; readonly attemptsLeft: number }
  /** Not the digits of a code; no attempt was used. */
  | { readonly kind: 'unreadable' }
  /** The code has expired. A new one is needed, so the field is not shown. */
  | { readonly kind: 'expired' }
  /** No attempt is left. A new code is needed, so the field is not shown. */
  | { readonly kind: 'spent' }
  /** Another code was requested too soon; the old one is still valid. */
  | { readonly kind: 'too-many-codes'; readonly minutes: number }

/** The page for typing a code. It is the same for an unknown address (hardening §3.1). */
export interface CodeView {
  readonly page: 'code'
  readonly clientName: string
  readonly email: string
  /** Posts `code` as typed; the handler removes white space and hyphens. */
  readonly form: Form
  /** Requests another code. */
  readonly resend: Form
  /** Goes back to the sign-in page. */
  readonly restart: Form
  /** How long a code is valid. */
  readonly minutes: number
  /** Where the code went: to the address, or, with no mail server in demo mode, to the server's log. */
  readonly sentTo: 'mail' | 'log'
  /** True right after another code was sent. */
  readonly sentAgain?: boolean | undefined
  readonly problem?: CodeProblem | undefined
  /** The path of the script that says with the code whether the browser has passkeys; absent where that does not matter. */
  readonly script?: string | undefined
}

/** Asks a person for one of their passkeys, after a code or a third party. */
export interface PasskeyView {
  readonly page: 'passkey'
  readonly clientName: string
  readonly email: string
  /** Posts `response`. */
  readonly passkey: PasskeyAsked
  /** Signs in as somebody else. */
  readonly restart: Form
  readonly problem?: PasskeyProblem | undefined
  readonly script: string
}

/** Offers a person their first passkey, or demands it. */
export interface NewPasskeyView {
  readonly page: 'new-passkey'
  readonly email: string
  /** Posts `response`. */
  readonly passkey: PasskeyAsked
  /** Goes on without, or, where a passkey is required, signs in as somebody else. */
  readonly way: { readonly skip: Form } | { readonly restart: Form }
  readonly problem?: PasskeyProblem | undefined
  readonly script: string
}

/** The consent page, shown if the client requests it. */
export interface ConsentView {
  readonly page: 'consent'
  readonly clientName: string
  /** Who is signed in. */
  readonly email: string
  /** The requested scopes: `openid`, `email`, `profile`, `offline_access`; any other is shown by its name. */
  readonly scopes: readonly string[]
  /** Posts `decision`: `allow` or `deny`. */
  readonly form: Form
}

/** Why the page for the code of a device is shown again. */
export type DeviceProblem =
  /** Unknown, used, or expired: the page does not say which, so that nobody can find out. */
  { readonly kind: 'unknown' }

/** The page for typing the code that a device shows. */
export interface DeviceView {
  readonly page: 'device'
  /** Posts `user_code` as typed; the handler removes white space and hyphens. */
  readonly form: Form
  /** The previous input. */
  readonly code?: string | undefined
  readonly problem?: DeviceProblem | undefined
}

/** Asks whether the code is that of a device of theirs, and names the application, before anybody signs in. */
export interface DeviceConfirmView {
  readonly page: 'device-confirm'
  readonly clientName: string
  /** As the device shows it. */
  readonly code: string
  /** The network address that the device asked from. */
  readonly address: string
  /** Who is signed in in this browser, if anybody is. */
  readonly email?: string | undefined
  /** Posts `confirm` or `abort`. */
  readonly form: Form
}

/** The device is signed in. */
export interface DeviceDoneView {
  readonly page: 'device-done'
  readonly clientName: string
  readonly email: string
}

/** The person has said no. */
export interface DeviceDeniedView {
  readonly page: 'device-denied'
}

/** Asks whether to sign out, at a client's request. */
export interface SignOutView {
  readonly page: 'sign-out'
  readonly clientName?: string | undefined
  readonly email?: string | undefined
  /** Posts `logout=yes`, or nothing if the person stays signed in. */
  readonly form: Form
}

/** Shown after signing out without a post-logout redirect URI. */
export interface SignedOutView {
  readonly page: 'signed-out'
  readonly clientName?: string | undefined
}

/** Shown to a person who declined to sign out. */
export interface StayedView {
  readonly page: 'stayed'
  readonly clientName?: string | undefined
  readonly email: string
}

/** Shown to a disabled person, only after they have authenticated. */
export interface DisabledView {
  readonly page: 'disabled'
  readonly email: string
  /** Signs in as somebody else; absent if the interaction is over. */
  readonly restart?: Form | undefined
}

/** Shown to a person who is signed in, and may not enter the application. */
export interface NotAllowedView {
  readonly page: 'not-allowed'
  readonly clientName: string
  readonly email?: string | undefined
  /** Whether a code to the address is all that is missing. */
  readonly isUnproved?: boolean
  /** Whom to ask: the operator's words. */
  readonly contact?: string | undefined
  /** Tells the application that the person was refused. */
  readonly leave: Form
  /** Signs in as somebody else. */
  readonly restart: Form
}

/**
 * A page that navigates onwards, at the end of the redirects that follow a form. Chromium checks every redirect after a form
 * submission against the page's `form-action`, the client's own redirects included, and a callback may redirect to another
 * origin. A navigation of this page is not a form submission.
 */
export interface OnwardView {
  readonly page: 'onward'
  /** A path of the listener (to resume the interaction) or an absolute URL. Never a value from the browser. */
  readonly to: string
}

/** A form of the library, which the page posts by itself. */
export interface PostedView {
  readonly page: 'posted'
  readonly form: Form
  readonly script: string
}

/** The kinds of error that a page distinguishes. */
export type ErrorKind =
  /** Unknown client (contract §10: a page, no redirect). */
  | 'unknown-client'
  /** The redirect URI is not registered (contract §10: a page, no redirect). */
  | 'unregistered-redirect'
  /** The request is invalid. */
  | 'bad-request'
  /** The interaction has expired or was already completed. */
  | 'expired'
  /** The same in a browser in which somebody is signed in: most often they went back. */
  | 'signed-in'
  /** The form came without the cookie of its interaction, or from another site. */
  | 'other-browser'
  | 'not-found'
  | 'too-many-requests'
  /** An internal error. */
  | 'failed'

/** The error page. It never redirects. */
export interface ErrorView {
  readonly page: 'error'
  readonly kind: ErrorKind
  /** The error id in the operator's log; absent if nothing was logged. */
  readonly errorId?: string | undefined
  /** The OAuth error code and description, for the client's developer: `invalid_redirect_uri`, and a sentence. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
}

export type PageView =
  | SignInView
  | CodeView
  | PasskeyView
  | NewPasskeyView
  | ConsentView
  | DeviceView
  | DeviceConfirmView
  | DeviceDoneView
  | DeviceDeniedView
  | SignOutView
  | SignedOutView
  | StayedView
  | DisabledView
  | NotAllowedView
  | OnwardView
  | PostedView
  | ErrorView
