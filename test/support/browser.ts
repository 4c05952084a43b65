/** A headless Chromium, where the machine has one. */
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The program's path; null where there is none. */
export const CHROMIUM = NAMES.map((name) => Bun.which(name)).find((path) => path !== null) ?? null

if (CHROMIUM === null) console.warn('browser: skipped, no Chromium is installed')

/** Open until it is closed. Ask `CHROMIUM` first. */
export async function openBrowser(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error('no Chromium is installed')
  // Without it a process of its own draws as if there were a card.
  return await chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] })
}
