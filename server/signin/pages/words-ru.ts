/** The Russian texts of the pages. */
import { html } from 'hono/html'
import type { Words } from './words.ts'

const RULES = new Intl.PluralRules('ru')

/** `1 минуту`, `2 минуты`, `5 минут`. */
function count(amount: number, one: string, few: string, many: string): string {
  const rule = RULES.select(amount)
  return `${amount} ${rule === 'one' ? one : rule === 'few' ? few : many}`
}

const minutesOf = (minutes: number): string => count(minutes, 'минуту', 'минуты', 'минут')

const attemptsLeft = (attempts: number): string =>
  attempts === 1
    ? 'Осталась одна попытка.'
    : `Осталось ${count(attempts, 'попытка', 'попытки', 'попыток')}.`

export const RUSSIAN: Words = {
  errorPrefix: 'Ошибка: ',
  signIn: {
    heading: 'Вход',
    title: (client) => `Вход в ${client}`,
    lead: (client) => html`чтобы продолжить в ${client}`,
    email: 'Адрес электронной почты',
    emailHint: 'Мы пришлём код. Пароль не нужен.',
    submit: 'Продолжить',
    or: 'или',
    noMethod: 'Войти здесь пока нельзя: прислать код нечем. Сообщите тем, кто ведёт этот сервис.',
    identity: (name) => `Войти через ${name}`,
    continueAs: (email) => html`Продолжить как ${email}`,
    problems: {
      unreadable: () => 'Это не похоже на адрес почты. Он должен быть вида name@example.com.',
      'too-many-codes': ({ minutes }) =>
        `Коды запрашивали слишком часто. Попробуйте через ${minutesOf(minutes)}.`,
      'identity-refused': ({ name }) =>
        `Войти через ${name} не удалось. Попробуйте ещё раз или выберите другой способ.`,
      'identity-failed': ({ name }) =>
        `Связаться с ${name} не удалось, или ответ ненадёжен. Попробуйте чуть позже или выберите другой способ.`,
      'identity-unproved': ({ name }) =>
        `Через ${name} вы входите впервые. Введите адрес почты: код покажет, что он ваш, и дальше хватит ${name}.`,
      'identity-unknown': ({ name }) =>
        `По данным из ${name} мы вас не узнали. Выберите другой способ или обратитесь к тем, кто ведёт этот сервис.`,
      'identity-gone': () => 'Этот способ входа больше не предлагается. Выберите другой.',
    },
  },
  code: {
    heading: 'Введите код',
    newCodeHeading: 'Нужен новый код',
    title: (client) => `Код для входа в ${client}`,
    sentByMail: (email, minutes) =>
      html`Мы отправили код на ${email}. Он действует ${minutesOf(minutes)}.`,
    sentToLog: (email, minutes) =>
      html`Почтовый сервер ещё не настроен, поэтому код для ${email} записан в журнале сервера. Он действует ${minutesOf(minutes)}.`,
    sentAgain: 'Новый код уже в пути. Прежний больше не действует.',
    code: 'Код',
    submit: 'Войти',
    resend: 'Прислать новый код',
    restart: 'Указать другой адрес',
    problems: {
      wrong: (problem) => `Код не подходит. ${attemptsLeft(problem.attemptsLeft)}`,
      unreadable: () =>
        'В коде только цифры, столько, сколько мы отправили. Проверьте, что вы ввели.',
      expired: () => 'Срок действия отправленного кода истёк.',
      spent: () => 'Код слишком много раз ввели неверно, он больше не действует.',
      'too-many-codes': ({ minutes }) =>
        `Коды запрашивали слишком часто. Новый можно будет получить через ${minutesOf(minutes)}.`,
    },
  },
  consent: {
    heading: (client) => html`Сообщить ${client}, кто вы?`,
    title: (client) => `Сообщить ${client}, кто вы?`,
    lead: 'Приложение узнает:',
    signedInAs: (email) => html`Вы вошли как ${email}.`,
    scopes: {
      openid: 'что это вы, при каждом возвращении',
      email: 'ваш адрес электронной почты',
      profile: 'ваше имя',
      groups: 'группы, в которых вы состоите',
      offline_access: 'всё это и позже, когда вас нет на месте',
    },
    otherScope: (scope) => html`то, что оно называет ${scope}`,
    allow: 'Разрешить',
    deny: 'Не разрешать',
  },
  device: {
    heading: 'Подключить устройство',
    lead: 'Введите код, который показывает устройство или программа.',
    code: 'Код',
    codeHint: 'Восемь латинских букв. Регистр и дефис не важны.',
    submit: 'Продолжить',
    problems: {
      unknown: () =>
        'Такого кода нет, он уже использован или истёк. Проверьте его или получите на устройстве новый.',
    },
    confirmHeading: (client) => html`Войти в ${client} на устройстве?`,
    confirmTitle: (client) => `Войти в ${client} на устройстве?`,
    check: (client) => html`${client} должно показывать именно этот код:`,
    warning:
      'Продолжайте, только если вы начали это сами и устройство перед вами. Если код или этот адрес вам прислали, за вас войдёт тот, кто прислал.',
    askedFrom: (address) => html`Код запрошен с сетевого адреса ${address}.`,
    signedInAs: (email) => html`Вы вошли как ${email}.`,
    confirm: 'Да, продолжить',
    deny: 'Нет, остановить',
    doneHeading: 'Вход на устройстве выполнен',
    done: (client, email) =>
      html`${client} продолжит как ${email}. Это окно можно закрыть и вернуться к устройству.`,
    deniedHeading: 'Вход на устройстве не выполнен',
    denied: 'Ничего не передано. Это окно можно закрыть.',
  },
  signOut: {
    heading: 'Выйти?',
    asked: (client) => html`Приложение ${client} просит выйти и здесь.`,
    signedInAs: (email) => html`Вы вошли как ${email}.`,
    submit: 'Выйти',
    stay: 'Остаться',
  },
  signedOut: {
    heading: 'Вы вышли',
    meaning: 'Это окно можно закрыть.',
    meaningWithClient: (client) => html`Это окно можно закрыть или вернуться в ${client}.`,
  },
  stayed: {
    heading: 'Вы остались в системе',
  },
  disabled: {
    heading: 'Войти нельзя',
    meaning: (email) =>
      html`Доступ для ${email} отключён теми, кто ведёт этот сервис. Если это ошибка, обратитесь к ним.`,
    restart: 'Указать другой адрес',
  },
  notAllowed: {
    title: (client) => `Нет доступа к ${client}`,
    heading: (client) => html`Вам нельзя войти в ${client}`,
    meaning: (email) => html`Вы вошли как ${email}, а этому адресу доступ сюда не дан.`,
    ask: (contact) => html`Чтобы получить доступ, обратитесь сюда: ${contact}.`,
    askOperator: 'Чтобы получить доступ, обратитесь к тому, кто отвечает за эту страницу входа.',
    leave: (client) => html`Вернуться в ${client}`,
    restart: 'Войти как другой человек',
  },
  onward: {
    heading: 'Одну минуту',
    link: 'Продолжить',
  },
  errors: {
    'unknown-client': {
      heading: 'Это приложение нам неизвестно',
      meaning:
        'Приложение, которое направило вас сюда, у нас не зарегистрировано. Вы ни в чём не ошиблись: сообщите тем, кто его ведёт.',
    },
    'unregistered-redirect': {
      heading: 'Обратный путь нам неизвестен',
      meaning:
        'Приложение просит вернуть вас по адресу, который для него не зарегистрирован, поэтому мы остановились здесь. Вы ни в чём не ошиблись: сообщите тем, кто его ведёт.',
    },
    'bad-request': {
      heading: 'На этот запрос нельзя ответить',
      meaning:
        'Приложение, которое направило вас сюда, просит о том, чего мы не понимаем. Вы ни в чём не ошиблись: сообщите тем, кто его ведёт.',
    },
    expired: {
      heading: 'Страница устарела',
      meaning:
        'Она ждала слишком долго или уже была использована. Вернитесь в приложение и войдите снова.',
    },
    'signed-in': {
      heading: 'Вы уже вошли',
      meaning: 'Эта страница своё дело сделала. Вернитесь в приложение: входить ещё раз не нужно.',
    },
    'other-browser': {
      heading: 'Начните, пожалуйста, заново',
      meaning:
        'Вход нужно закончить в том же браузере, где он начат, и с разрешёнными cookie. Вернитесь в приложение и войдите снова.',
    },
    'not-found': {
      heading: 'Здесь ничего нет',
      meaning: 'Чтобы войти, начните с приложения, которым хотите пользоваться.',
    },
    'too-many-requests': {
      heading: 'Слишком много запросов',
      meaning: 'Подождите несколько минут, вернитесь в приложение и войдите снова.',
    },
    failed: {
      heading: 'Что-то сломалось у нас',
      meaning:
        'Попробуйте ещё раз чуть позже. Если не поможет, сообщите тем, кто ведёт этот сервис.',
    },
  },
  errorId: 'Номер ошибки',
  errorIdUse: 'По нему ошибку найдут в журнале.',
  errorDetail: 'Для разработчиков',
}
