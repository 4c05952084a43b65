/** The mail that invites a person to an account. */
import type { Language } from '#domain/language.ts'
import { type Letter, toLetter } from '#signin/register/code-mail.ts'
import type { Role } from '#signin/register/membership.ts'

export interface InvitationFacts {
  /** The name of the account. */
  readonly account: string
  readonly role: Role
  /** Of the cabinet. */
  readonly url: string
  /** The address of the owner who invites; null for the operator. */
  readonly by: string | null
}

/** The subject contains no text from an untrusted source. */
export function invitationMail(language: Language, facts: InvitationFacts): Letter {
  const { subject, lines } = WORDS[language](facts)
  return toLetter(subject, lines)
}

interface Words {
  readonly subject: string
  readonly lines: readonly string[]
}

const ROLES: Readonly<Record<Language, Readonly<Record<Role, string>>>> = {
  en: {
    owner: 'You are an owner: you see and change everything of the account.',
    member: 'You are a member: you make keys, and see what they spend.',
    viewer: 'You are a viewer: you see everything of the account, and change nothing.',
  },
  ru: {
    owner: 'Вы владелец: видите и меняете всё, что есть в аккаунте.',
    member: 'Вы участник: создаёте ключи и видите, сколько по ним потрачено.',
    viewer: 'Вы наблюдатель: видите всё, что есть в аккаунте, и ничего не меняете.',
  },
}

const WORDS: Readonly<Record<Language, (facts: InvitationFacts) => Words>> = {
  en: ({ account, role, url, by }) => ({
    subject: 'You are invited to the model gateway',
    lines: [
      by === null
        ? `You now belong to the account "${account}".`
        : `${by} has added you to the account "${account}".`,
      ROLES.en[role],
      `Sign in with this e-mail address; there is no password, a code is mailed to you: ${url}`,
    ],
  }),
  ru: ({ account, role, url, by }) => ({
    subject: 'Вас приглашают в шлюз моделей',
    lines: [
      by === null
        ? `Теперь у вас есть доступ к аккаунту «${account}».`
        : `${by} открывает вам доступ к аккаунту «${account}».`,
      ROLES.ru[role],
      `Войдите с этим адресом почты; пароля нет, код придёт письмом: ${url}`,
    ],
  }),
}
