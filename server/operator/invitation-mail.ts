/** The mail that invites a person to an account, or says that they belong to one. */
import type { Language } from '#domain/language.ts'
import { type Letter, toLetter } from '#signin/register/code-mail.ts'
import type { Role } from '#signin/register/membership.ts'

export interface InvitationFacts {
  /** The name of the account. */
  readonly account: string
  readonly role: Role
  /** Of the cabinet; where it is accepted, of an invitation that is pending. */
  readonly url: string
  /** The address of the owner who invites; null for the operator. */
  readonly by: string | null
  /** Whether they belong to the account only once they accept. */
  readonly isPending: boolean
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
    owner: 'As an owner you see and change everything of the account.',
    member: 'As a member you make keys, and see what they spend.',
    viewer: 'As a viewer you see everything of the account, and change nothing.',
  },
  ru: {
    owner: 'Владелец видит и меняет всё, что есть в аккаунте.',
    member: 'Участник создаёт ключи и видит, сколько по ним потрачено.',
    viewer: 'Наблюдатель видит всё, что есть в аккаунте, и ничего не меняет.',
  },
}

const WORDS: Readonly<Record<Language, (facts: InvitationFacts) => Words>> = {
  en: ({ account, role, url, by, isPending }) => ({
    subject: isPending
      ? 'You are invited to the model gateway'
      : 'You have access to the model gateway',
    lines: [
      isPending
        ? `${by ?? 'The operator'} invites you to the account "${account}".`
        : `You now belong to the account "${account}".`,
      ROLES.en[role],
      ...(isPending
        ? [
            'It ends after 14 days. If you belong to no account, signing in accepts it, unless others wait as well; else you are asked.',
          ]
        : []),
      `Sign in with this e-mail address; there is no password, a code is mailed to you: ${url}`,
    ],
  }),
  ru: ({ account, role, url, by, isPending }) => ({
    subject: isPending ? 'Вас приглашают в шлюз моделей' : 'Вам открыт доступ к шлюзу моделей',
    lines: [
      isPending
        ? `${by ?? 'Оператор шлюза'} приглашает вас в аккаунт «${account}».`
        : `Теперь у вас есть доступ к аккаунту «${account}».`,
      ROLES.ru[role],
      ...(isPending
        ? [
            'Приглашение действует 14 дней. Если вы ещё не состоите ни в одном аккаунте и других приглашений нет, вход его принимает; иначе вас спросят.',
          ]
        : []),
      `Войдите с этим адресом почты; пароля нет, код придёт письмом: ${url}`,
    ],
  }),
}
