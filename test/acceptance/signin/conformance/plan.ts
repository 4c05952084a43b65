/**
 * The plans of the OpenID Foundation's certification that this provider is held to, module by module. There is none of PKCE: one
 * module of the Basic OP sends it, and what else it forbids is in `../refusals.test.ts` and `../redemptions.test.ts`.
 */

/** `oidcc-basic-certification-test-plan`, with `response_type=code`; `oidcc-formpost-basic-certification-test-plan` has the same modules. */
export const BASIC_OP = [
  'oidcc-server',
  'oidcc-response-type-missing',
  'oidcc-idtoken-signature',
  'oidcc-idtoken-unsigned',
  'oidcc-userinfo-get',
  'oidcc-userinfo-post-header',
  'oidcc-userinfo-post-body',
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
  'oidcc-scope-profile',
  'oidcc-scope-email',
  'oidcc-scope-address',
  'oidcc-scope-phone',
  'oidcc-scope-all',
  'oidcc-alternate-happy-flow',
  'oidcc-display-page',
  'oidcc-display-popup',
  'oidcc-prompt-login',
  'oidcc-prompt-none-not-logged-in',
  'oidcc-prompt-none-logged-in',
  'oidcc-max-age-1',
  'oidcc-max-age-10000',
  'oidcc-ensure-request-with-unknown-parameter-succeeds',
  'oidcc-id-token-hint',
  'oidcc-login-hint',
  'oidcc-ui-locales',
  'oidcc-claims-locales',
  'oidcc-ensure-request-with-acr-values-succeeds',
  'oidcc-codereuse',
  'oidcc-codereuse-30seconds',
  'oidcc-ensure-registered-redirect-uri',
  'oidcc-ensure-post-request-succeeds',
  'oidcc-server-client-secret-post',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-claims-essential',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-refresh-token',
  'oidcc-ensure-request-with-valid-pkce-succeeds',
] as const

/** `oidcc-rp-initiated-logout-certification-test-plan`, with `response_type=code`. */
export const LOGOUT_OP = [
  'oidcc-rp-initiated-logout-discovery-endpoint-verification',
  'oidcc-rp-initiated-logout',
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
  'oidcc-rp-initiated-logout-modified-id-token-hint',
  'oidcc-rp-initiated-logout-no-id-token-hint',
  'oidcc-rp-initiated-logout-no-params',
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
  'oidcc-rp-initiated-logout-no-state',
  'oidcc-rp-initiated-logout-only-state',
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
  'oidcc-rp-initiated-logout-bad-id-token-hint',
] as const

/** `oidcc-backchannel-rp-initiated-logout-certification-test-plan`, with `response_type=code`. */
export const BACKCHANNEL_OP = [
  'oidcc-backchannel-logout-discovery-endpoint-verification',
  'oidcc-backchannel-rp-initiated-logout',
] as const

/** `oidcc-config-certification-test-plan`. */
export const CONFIG_OP = ['oidcc-discovery-endpoint-verification'] as const
