/** The low-balance e-mail, rendered from the event's stored body. */
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { dollars } from '#domain/money.ts'
import type { Mail } from './mail.ts'

/** As `renderLowBalance` wrote it. */
interface LowBalanceBody {
  readonly id: string
  readonly timestamp: string
  readonly data: {
    readonly balance_usd: string
    readonly balance_rub: number
    readonly threshold_usd: string
  }
  readonly test?: true
}

/** The same text at every attempt, except for the account's current name. */
export function writeLowBalance(body: string, account: string): Mail {
  const event = JSON.parse(body) as LowBalanceBody
  const name = account.replace(/[\p{Cc}\p{Cf}]/gu, '�')
  const { balance_usd: balance, balance_rub: rubles, threshold_usd: threshold } = event.data
  const whose = account === DEFAULT_ACCOUNT_NAME ? '' : ` --account ${quote(name)}`
  const topUp = `gatewayctl balance top-up 50${whose}`
  const lead = event.test
    ? `This is a test: somebody asked whether notices of account ${name} arrive here. Nothing has happened.`
    : `The balance of account ${name} has fallen below its threshold.`
  const facts = [
    ['Account', name],
    ['Balance', `${dollars(balance)} (${rubles.toFixed(2)} RUB)`],
    ['Threshold', dollars(threshold)],
    ['Time', event.timestamp],
    ['Event', event.id],
  ] as const
  const meaning =
    'When nothing is left, requests of its keys are refused with 402 insufficient_balance. The operator of this gateway tops it up, where it runs, with:'
  const rhythm =
    'While the balance stays below it, this notice is sent at most once a day. A top-up above the threshold resets that.'

  return {
    subject: `${event.test ? '[test] ' : ''}Low balance: account ${name} has ${dollars(balance)}`,
    text: [
      lead,
      '',
      ...facts.map(([label, value]) => `  ${`${label}:`.padEnd(11)} ${value}`),
      '',
      meaning,
      '',
      `  ${topUp}`,
      '',
      rhythm,
      '',
    ].join('\n'),
    html: [
      '<!doctype html><html lang="en"><body style="font-family:sans-serif">',
      `<p>${Bun.escapeHTML(lead)}</p><table cellpadding="4">`,
      ...facts.map(
        ([label, value]) =>
          `<tr><th align="left" scope="row">${label}</th><td>${Bun.escapeHTML(value)}</td></tr>`,
      ),
      `</table><p>${Bun.escapeHTML(meaning)}</p><pre>${Bun.escapeHTML(topUp)}</pre><p>${Bun.escapeHTML(rhythm)}</p></body></html>`,
    ].join('\n'),
  }
}

/** Quoted for a shell, so that the command can be pasted. */
const quote = (text: string): string =>
  /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
