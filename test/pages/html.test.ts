// The template that every page is made of: what somebody wrote is text, wherever it stands.
import { expect, test } from 'vitest'
import { html, raw } from '#pages/html.ts'

test('text is escaped once, and what is HTML already is left as it is', () => {
  const text = `<a href="x" title='y'>&amp;</a>`
  const told = '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;'
  expect(String(html`<p>${text}</p>`)).toBe(`<p>${told}</p>`)
  expect(String(html`<p title="${text}">${html`<b>${text}</b>`}</p>`)).toBe(
    `<p title="${told}"><b>${told}</b></p>`,
  )
  expect(String(html`${raw('<!--rest-->')}`)).toBe('<!--rest-->')
})

test('lists are joined, and nothing is nothing', () => {
  expect(String(html`${[1, ['<', html`<i>`], null]}${undefined}${false}${true}${0}`)).toBe(
    '1&lt;<i>0',
  )
})

test('what only looks like HTML is none', () => {
  const claim = { isEscaped: true, toString: () => '<script>' }
  expect(() => html`${claim as never}`).toThrow()
})
