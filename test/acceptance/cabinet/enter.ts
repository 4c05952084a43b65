/** The way into the cabinet without scripts: a mailed code, and on. */
import { until } from '#test/support/appliance.ts'
import type { Browser } from '../signin/browser.ts'
import type { SigninGateway } from '../signin/signin-gateway.ts'

const MAX_MS = 60_000

/** Who is a member of the account from now on, and a browser in which they are signed in. */
export async function enter(setup: SigninGateway, email: string): Promise<Browser> {
  await setup.appliance.verb('accounts.members.add', { email, role: 'owner' })
  // Its code is the mail after the invitation.
  const isInvited = () => setup.mail.taken.some(({ to }) => to.includes(email))
  await until(isInvited, `${email} is invited`, MAX_MS)
  const browser = setup.browser()
  const landed = await setup.signIn(browser, await browser.open('/cabinet'), email)
  // The page after a form leads on by itself.
  const onward = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(landed.text)?.[1]
  if (onward !== undefined) await browser.open(onward.replaceAll('&amp;', '&'))
  return browser
}
