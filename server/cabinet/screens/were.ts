/** What a form was filled with, sent along, so that it changes only what was changed in it: somebody else may have changed the rest. */
import { type Html, html } from '#pages/html.ts'
import type { Visit } from '../visit.ts'

const nameOf = (field: string): string => `was.${field}`

/** As it was first filled, where the form is shown again. */
export const wereOf = ({ form }: Visit, values: Readonly<Record<string, string>>): Html =>
  html`${Object.entries(values).map(
    ([field, value]) =>
      html`<input type="hidden" name="${nameOf(field)}" value="${form.get(nameOf(field)) ?? value}">`,
  )}`

/** Whether the field is in the form, and holds another value. Browsers end lines in their own way. */
export function isChanged(form: URLSearchParams, field: string): boolean {
  const [was, is] = [form.get(nameOf(field)), form.get(field)]
  return is !== null && (was === null || plain(was) !== plain(is))
}

const plain = (text: string): string => text.trim().replaceAll('\r\n', '\n')
