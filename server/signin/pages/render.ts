/** Renders a view as HTML. */

import type { Language } from '#domain/language.ts'
import { type Brand, NO_BRAND } from '#pages/brand.ts'
import { drawCode } from './code.ts'
import { drawConsent } from './consent.ts'
import { drawDevice, drawDeviceConfirm, drawDeviceDenied, drawDeviceDone } from './device.ts'
import { layOut, type Sheet } from './layout.ts'
import { drawOnward, drawPosted } from './onward.ts'
import { drawNewPasskey, drawPasskey } from './passkey.ts'
import { drawDisabled, drawError, drawNotAllowed } from './refusal.ts'
import { drawSignIn } from './sign-in.ts'
import { drawSignedOut, drawSignOut, drawStayed } from './sign-out.ts'
import type { PageView } from './view.ts'
import type { Words } from './words.ts'
import { ENGLISH } from './words-en.ts'
import { RUSSIAN } from './words-ru.ts'

/** The texts of each language. */
export const WORDS: Readonly<Record<Language, Words>> = { en: ENGLISH, ru: RUSSIAN }

/** The whole document. `host` is that of the issuer, for the reader to compare with the address bar. */
export async function renderPage(
  view: PageView,
  language: Language,
  host: string,
  brand: Brand = NO_BRAND,
): Promise<string> {
  const script = scriptOf(view)
  return String(layOut({ ...draw(view, WORDS[language]), script }, language, host, brand))
}

/** The path of the script that the page runs; undefined for none. */
export const scriptOf = (view: PageView): string | undefined =>
  'script' in view ? view.script : undefined

function draw(view: PageView, words: Words): Sheet {
  switch (view.page) {
    case 'sign-in':
      return drawSignIn(view, words)
    case 'code':
      return drawCode(view, words)
    case 'passkey':
      return drawPasskey(view, words)
    case 'new-passkey':
      return drawNewPasskey(view, words)
    case 'consent':
      return drawConsent(view, words)
    case 'device':
      return drawDevice(view, words)
    case 'device-confirm':
      return drawDeviceConfirm(view, words)
    case 'device-done':
      return drawDeviceDone(view, words)
    case 'device-denied':
      return drawDeviceDenied(words)
    case 'sign-out':
      return drawSignOut(view, words)
    case 'signed-out':
      return drawSignedOut(view, words)
    case 'stayed':
      return drawStayed(view, words)
    case 'disabled':
      return drawDisabled(view, words)
    case 'not-allowed':
      return drawNotAllowed(view, words)
    case 'onward':
      return drawOnward(view, words)
    case 'posted':
      return drawPosted(view, words)
    case 'error':
      return drawError(view, words)
  }
}
