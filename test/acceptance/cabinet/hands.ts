/** How a person works a page: by mouse, or by the keyboard alone. Both find things by CSS, and take the first. */
import type { Page } from 'playwright-core'

export interface Hands {
  /** Follows a link, or presses a button. */
  press(page: Page, what: string): Promise<void>
  /** Fills a field anew. */
  write(page: Page, field: string, text: string): Promise<void>
}

export const BY_MOUSE: Hands = {
  press: (page, what) => page.locator(what).first().click(),
  write: (page, field, text) => page.fill(field, text),
}

/** More than any page has to step over. */
const MAX_STEPS = 400

export const BY_KEYBOARD: Hands = {
  async press(page, what) {
    await reach(page, what)
    await page.keyboard.press('Enter')
  },
  async write(page, field, text) {
    await reach(page, field)
    await page.keyboard.press('Control+A')
    await page.keyboard.press('Delete')
    await page.keyboard.type(text)
  },
}

/** Step by step, as no pointer helps; and where it stands is seen. */
async function reach(page: Page, what: string): Promise<void> {
  await page.waitForSelector(what)
  for (let step = 0; step < MAX_STEPS; step++) {
    const outline = await page.evaluate<string | null>(outlineOf(what))
    if (outline === 'none') throw new Error(`${what} has the focus, and does not show it`)
    if (outline !== null) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no ${MAX_STEPS} steps of the keyboard lead to ${what} on ${page.url()}`)
}

/** The style of the focus's outline, null where the focus is elsewhere: an expression, as the page has no types of ours. */
const outlineOf = (what: string): string =>
  `document.activeElement === document.querySelector(${JSON.stringify(what)})
    ? getComputedStyle(document.activeElement).outlineStyle : null`
