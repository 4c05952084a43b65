/** The pages of a device: its code is typed, then confirmed, and at the end the device is signed in or is not. */
import { describedBy, formOf, html, named, PROBLEM_ID, problemOf } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { DeviceConfirmView, DeviceDoneView, DeviceView } from './view.ts'
import type { Words } from './words.ts'

const HINT_ID = 'hint'

export function drawDevice({ form, code, problem }: DeviceView, words: Words): Sheet {
  const { device, errorPrefix } = words
  const sentence = problem && device.problems[problem.kind](problem)
  const attributes = describedBy(problem ? [PROBLEM_ID, HINT_ID] : [HINT_ID], problem !== undefined)
  return {
    title: problem ? errorPrefix + device.heading : device.heading,
    content: html`<h1>${device.heading}</h1>
<p class="lead">${device.lead}</p>
${problemOf(sentence, true)}
${formOf(
  form,
  html`<label for="code">${device.code}</label>
<input class="code device-code" id="code" type="text" name="user_code" value="${code ?? ''}" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required autofocus${attributes}>
<p class="hint" id="${HINT_ID}">${device.codeHint}</p>
<button class="lead-button" type="submit">${device.submit}</button>`,
)}`,
  }
}

/** No button has the focus, so that a held key cannot decide. */
export function drawDeviceConfirm(view: DeviceConfirmView, { device }: Words): Sheet {
  const { clientName, code, address, email, form } = view
  const client = named(clientName)
  return {
    title: device.confirmTitle(clientName),
    content: html`<h1>${device.confirmHeading(html`<bdi>${clientName}</bdi>`)}</h1>
<p class="body">${device.check(client)}</p>
<p class="shown-code"><code>${code}</code></p>
<p class="problem">${device.warning}</p>
<p class="who">${device.askedFrom(html`<bdi>${address}</bdi>`)}${email !== undefined && html` ${device.signedInAs(named(email))}`}</p>
${formOf(
  form,
  html`<button class="lead-button" type="submit" name="confirm" value="yes">${device.confirm}</button>
<button class="quiet-button" type="submit" name="abort" value="yes">${device.deny}</button>`,
)}`,
  }
}

export function drawDeviceDone({ clientName, email }: DeviceDoneView, { device }: Words): Sheet {
  return {
    title: device.doneHeading,
    content: html`<h1>${device.doneHeading}</h1>
<p class="lead">${device.done(named(clientName), named(email))}</p>`,
  }
}

export const drawDeviceDenied = ({ device }: Words): Sheet => ({
  title: device.deniedHeading,
  content: html`<h1>${device.deniedHeading}</h1>
<p class="lead">${device.denied}</p>`,
})
