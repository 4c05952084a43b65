/** The mails of the sign-in provider, in the language of the page that requested them. */
import type { Language } from '#domain/language.ts'
import { type Letter, toLetter } from './register/code-mail.ts'

export interface MailFacts {
  readonly clientName: string
  /** The network address of the request. */
  readonly address: string
  /** RFC 3339. */
  readonly at: string
  readonly minutes: number
  /** The identity provider that the code will also link; null if none. */
  readonly links: string | null
  /** Whom to ask: the operator's words. */
  readonly contact?: string | undefined
}

/** The subject contains no text from an untrusted source. */
export function codeMail(language: Language, code: string, facts: MailFacts): Letter {
  const { subject, lines } = CODE_WORDS[language](facts)
  return toLetter(subject, [...lines.slice(0, 1), spaced(code), ...lines.slice(1)])
}

/** For an unknown address while sign-up is closed. */
export function notKnownMail(language: Language, facts: MailFacts): Letter {
  const { subject, lines } = NOT_KNOWN_WORDS[language](facts)
  return toLetter(subject, lines)
}

const spaced = (code: string): string => code.replace(/(\d{4})(?=\d)/g, '$1 ')

interface Words {
  readonly subject: string
  readonly lines: readonly string[]
}

const CODE_WORDS: Readonly<Record<Language, (facts: MailFacts) => Words>> = {
  en: ({ clientName, address, at, minutes, links }) => ({
    subject: 'Your sign-in code',
    lines: [
      `Your code for signing in to ${clientName}:`,
      `It is valid for ${minutes} minutes, in the browser that requested it.`,
      ...(links === null ? [] : [`Once you enter it, you can also sign in with ${links}.`]),
      `Requested on ${at} from ${address}. If this was not you, ignore this e-mail: nobody can sign in without the code.`,
    ],
  }),
  ru: ({ clientName, address, at, minutes, links }) => ({
    subject: 'Код для входа',
    lines: [
      `Ваш код для входа в ${clientName}:`,
      `Код действует ${minutes} минут и только в том браузере, где его запросили.`,
      ...(links === null ? [] : [`Когда вы его введёте, войти можно будет и через ${links}.`]),
      `Запрошен ${at} с адреса ${address}. Если это были не вы, ничего делать не нужно: без кода никто не войдёт.`,
    ],
  }),
}

const NOT_KNOWN_WORDS: Readonly<Record<Language, (facts: MailFacts) => Words>> = {
  en: ({ clientName, address, at, contact = 'the operator' }) => ({
    subject: 'Signing in',
    lines: [
      `Somebody requested a code to sign in to ${clientName} with this address, which is not known here.`,
      `If it was you, ask ${contact} to add your address, or use another one.`,
      `Requested on ${at} from ${address}.`,
    ],
  }),
  ru: ({ clientName, address, at, contact }) => ({
    subject: 'Вход',
    lines: [
      `Кто-то запросил код для входа в ${clientName} с этим адресом, но здесь его не знают.`,
      contact === undefined
        ? 'Если это были вы, попросите оператора добавить ваш адрес или войдите с другим.'
        : `Если это были вы, попросите добавить ваш адрес (${contact}) или войдите с другим.`,
      `Запрошено ${at} с адреса ${address}.`,
    ],
  }),
}
