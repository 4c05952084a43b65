/** Forms that ask the browser for a passkey (`ask-passkey.js`): hidden until a script says that it has any. */
import script from './ask-passkey.js' with { type: 'text' }
import { ASSETS, asset } from './assets.ts'
import { type Form, type Html, hiddenOf, html } from './html.ts'

/** Every page with such a form, or one that says whether the browser has passkeys, loads it. */
export const PASSKEY_SCRIPT = asset(ASSETS, 'passkeys', 'js', script)

export interface PasskeyForm {
  readonly form: Form
  /** What the browser passes to the device, as JSON. */
  readonly options: string
  /** `wait` also suggests passkeys in the field of the address. */
  readonly does: 'add' | 'use' | 'wait'
  readonly label: string
  /** The class of the button. */
  readonly style: string
  /** Said where nobody answered. */
  readonly failed: string
  /** Said where the device has one already. */
  readonly known?: string
}

export const passkeyForm = ({
  form,
  options,
  does,
  label,
  style,
  failed,
  known,
}: PasskeyForm): Html => html`<form method="post" action="${form.action}" data-passkey="${does}" data-options="${options}" data-with-passkeys data-hx-boost="false" hidden>
<input type="hidden" name="response" value="">${hiddenOf(form)}
<button class="${style}" type="submit">${label}</button>
<p class="problem" role="alert" data-failed="${failed}" data-known="${known ?? failed}" hidden></p>
</form>`
