/** The e-mail of an event, or of a digest of several, rendered from the stored body. */
import { DIGEST, type EventBody } from '#domain/event.ts'
import type { Mail } from './mail.ts'

/** The same text at every attempt. */
export function writeEvent(body: string): Mail {
  const event: EventBody = JSON.parse(body)
  const events = event.type === DIGEST ? (event.data['notices'] as readonly EventBody[]) : [event]
  const [first = event] = events
  const subject =
    events.length === 1
      ? `[${first.data.severity}] ${clean(first.data.message)}`
      : `[${event.data.severity}] ${events.length} notices of your gateway`
  return {
    subject: `${event.test ? '[test] ' : ''}${cut(subject)}`,
    text: `${events.map(textOf).join('\n\n')}\n`,
    html: [
      '<!doctype html><html lang="en"><body style="font-family:sans-serif">',
      ...events.map(htmlOf),
      '</body></html>',
    ].join('\n'),
  }
}

/** Longer subjects are cut by most programs anyway. */
const MAX_SUBJECT_CHARS = 150

const cut = (text: string): string =>
  text.length > MAX_SUBJECT_CHARS ? `${text.slice(0, MAX_SUBJECT_CHARS - 1)}…` : text

/** Names, and words of providers, must not break a line or a header. */
const clean = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '�')

/** What every event has is said in its own place. */
const SAID: ReadonlySet<string> = new Set(['severity', 'message', 'hint'])

const factsOf = ({ data, timestamp, type, id }: EventBody): readonly (readonly string[])[] => [
  ...Object.entries(data)
    .filter(([name, value]) => !SAID.has(name) && value !== null)
    .map(([name, value]) => [name, clean(Array.isArray(value) ? value.join(', ') : String(value))]),
  ['time', timestamp],
  ['event', `${type} ${id}`],
]

const textOf = (event: EventBody): string =>
  [
    `${sentence(event)}`,
    '',
    ...factsOf(event).map(([name, value]) => `  ${`${name}:`.padEnd(16)} ${value}`),
    '',
    clean(event.data.hint),
  ].join('\n')

const htmlOf = (event: EventBody): string =>
  [
    `<p>${Bun.escapeHTML(sentence(event))}</p><table cellpadding="4">`,
    ...factsOf(event).map(
      ([name = '', value = '']) =>
        `<tr><th align="left" scope="row">${Bun.escapeHTML(name)}</th><td>${Bun.escapeHTML(value)}</td></tr>`,
    ),
    `</table><p>${Bun.escapeHTML(clean(event.data.hint))}</p>`,
  ].join('\n')

const sentence = ({ data }: EventBody): string =>
  `${data.severity === 'info' ? '' : `${data.severity}: `}${clean(data.message)}.`
