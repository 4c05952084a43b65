/** What axe finds wrong with a page for those who do not see it, or not well. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type axe from 'axe-core'
import type { Page } from 'playwright-core'

/** The small one is there in half the time, and it is parsed on every page. */
const SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Evaluated by the debugger, so that the page's policy need not allow it. */
export async function violationsOn(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(SOURCE)
  return await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run({
      resultTypes: ['violations'],
    })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
  })
}
