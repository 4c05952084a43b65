/** What docs/clients.md prints, with this run's address and model in it. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PAGE = fileURLToPath(new URL('../../docs/clients.md', import.meta.url))

const ON_PAGE = { url: 'http://127.0.0.1:4140', model: 'openai/gpt-5' } as const

/** The one block of the page that has this in it. */
export function printed(
  part: string,
  { url, model }: { readonly url: string; readonly model: string },
): string {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```\w+\n(.*?)^```$/gms)]
  const found = blocks.map(([, text = '']) => text).filter((text) => text.includes(part))
  if (found.length !== 1) throw new Error(`docs/clients.md has ${found.length} blocks with ${part}`)
  return String(found[0]).replaceAll(ON_PAGE.url, url).replaceAll(ON_PAGE.model, model)
}
