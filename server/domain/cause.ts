/** The causes of notices: one list of what an operator is told of, in which words, and what ends it. */
import type { AccountId, KeyId } from './id.ts'
import { type LimitName, limitNamed } from './limits.ts'

/** `info`: trouble that is over; `warning`: look at it by day; `critical`: requests fail, or soon will. */
export type Severity = 'info' | 'warning' | 'critical'

/** Every severity, the worst first. */
export const WORST_FIRST: readonly Severity[] = ['critical', 'warning', 'info']

/** A fact, for whoever receives it: dollars are decimal strings, times ISO 8601 in UTC. */
type Described = readonly [
  kind: 'text' | 'count' | 'usd' | 'time' | 'list' | 'text or null' | 'count or null',
  about: string,
]

/** What a cause says of a set of facts. */
export interface Cause<Known> {
  /** What it is, for lists of causes. */
  readonly title: string
  severity(facts: Known): Severity
  /** What is one: while an event of this subject is open, no other is raised. */
  subject(facts: Known): string
  /** What its payload has beside `severity`, `message` and `hint`. */
  readonly facts: { readonly [Fact in keyof Known]: Described }
  /** Whether it goes on until it is lifted; otherwise it happened, and its subject never comes again. */
  readonly lasts: boolean
  /** One sentence. */
  message(facts: Known): string
  /** What ends it, or what to type next. */
  hint(facts: Known): string
}

/** A share of a ceiling that was passed. */
interface CeilingFacts {
  readonly account_id: AccountId
  /** The limit, by its name in the API. */
  readonly limit: LimitName
  readonly limit_usd: string
  readonly used_usd: string
  /** The share that was passed, of those that are told. */
  readonly percent: number
  readonly resets_at: string
}

interface KeyCeilingFacts extends CeilingFacts {
  readonly key_id: KeyId
  readonly key_name: string
}

/** What each cause is raised with. */
export interface CauseFacts {
  'gateway.key_ceiling': KeyCeilingFacts
  'gateway.account_ceiling': CeilingFacts & { readonly account_name: string }
  'gateway.end_user_ceiling': KeyCeilingFacts & { readonly end_user: string }
  'gateway.charge_beyond_hold': {
    readonly account_id: AccountId
    readonly key_id: KeyId
    readonly generation_id: string
    readonly provider: string
    readonly model: string
    readonly held_usd: string
    readonly charged_usd: string
    /** The UTC day. */
    readonly day: string
  }
  'gateway.provider_resting': {
    readonly provider: string
    /** By the provider's names, those that rest. */
    readonly models: readonly string[]
    readonly failures: number
    /** The kind of the last failure: `failed`, `timeout`, `overloaded` … */
    readonly reason: string
    readonly status: number | null
  }
  'gateway.provider_recovered': {
    readonly provider: string
    /** As the event that told of the trouble has it. */
    readonly credential: string | null
    readonly event_id: string
  }
  'gateway.credential_rejected': {
    readonly provider: string
    /** Its name, where the provider has several. */
    readonly credential: string | null
    readonly models: readonly string[]
    readonly status: number | null
  }
  'gateway.certificate_ending': {
    readonly host: string
    readonly ends_at: string
    /** Whole days; 0 for one that has ended. */
    readonly days_left: number
  }
  'gateway.bill_differs': {
    readonly provider: string
    /** The days of the bill; the second is not in it. */
    readonly since: string
    readonly until: string
    readonly unexplained_usd: string
    readonly tolerance_percent: string
  }
  'gateway.backup_failed': { readonly file: string | null; readonly reason: string }
  'gateway.sweep_failed': { readonly reason: string }
  'gateway.disk_low': {
    readonly directory: string
    readonly free_bytes: number
    readonly free_percent: number
    /** `full`: the next long read may fill it. */
    readonly level: 'low' | 'full'
  }
  'gateway.clock_wrong': {
    /** By how many seconds it went ahead of the time that passed, or back (negative). */
    readonly ahead_seconds: number
  }
  'gateway.test': Record<never, never>
}

export type CauseName = keyof CauseFacts
/** The causes that concern the people of an account: those that name it. */
export type AccountCauseName = {
  [Name in CauseName]: CauseFacts[Name] extends { readonly account_id: AccountId } ? Name : never
}[CauseName]

const OWNER = {
  account_id: ['text', 'The account'],
  key_id: ['text', 'The key'],
} as const

const CEILING = {
  limit: ['text', 'The limit, by its name in the API'],
  limit_usd: ['usd', 'Its value'],
  used_usd: ['usd', 'What is used of it'],
  percent: ['count', 'The share that was passed, of those that are told'],
  resets_at: ['time', 'When the period ends'],
} as const

const KEY_CEILING = { ...OWNER, key_name: ['text', 'Its name'], ...CEILING } as const

const PROVIDER = ['text', 'The provider'] as const
const MODELS = ['list', "The models that fail, by the provider's names"] as const
const STATUS = ['count or null', "The provider's own status, where one came"] as const

const REACHED = 100

const ofCeiling = ({ limit, limit_usd, resets_at, percent }: CeilingFacts): string =>
  `${limit} ${limit_usd} ${resets_at} ${percent}`

const ceilingOf = ({ limit, limit_usd }: CeilingFacts): string =>
  limitNamed(limit)?.say(`$${limit_usd}`) ?? `$${limit_usd}`

const used = (facts: CeilingFacts): string =>
  facts.percent >= REACHED
    ? `has reached its ceiling of ${ceilingOf(facts)}: $${facts.used_usd} is used, and further requests are refused`
    : `has used ${facts.percent}% of its ceiling of ${ceilingOf(facts)}: $${facts.used_usd}`

const liftBy = ({ resets_at, limit }: CeilingFacts, command: string): string =>
  `lifts at ${resets_at}, or by a higher ceiling: gatewayctl ${command} --${limitNamed(limit)?.flag} AMOUNT`

const liftOfKey = (facts: KeyCeilingFacts): string => liftBy(facts, `limits set ${facts.key_id}`)

const atCeiling = ({ percent }: CeilingFacts): Severity =>
  percent >= REACHED ? 'critical' : 'warning'

/** In the order of the documentation. */
export const CAUSES: { readonly [Name in CauseName]: Cause<CauseFacts[Name]> } = {
  'gateway.key_ceiling': {
    title: 'A key has used a share of a spend ceiling',
    severity: atCeiling,
    subject: (facts) => `${facts.key_id} ${ofCeiling(facts)}`,
    facts: KEY_CEILING,
    lasts: false,
    message: (facts) => `key ${facts.key_name} ${used(facts)}`,
    hint: liftOfKey,
  },
  'gateway.account_ceiling': {
    title: 'The keys of an account have together used a share of its spend ceiling',
    severity: atCeiling,
    subject: (facts) => `${facts.account_id} ${ofCeiling(facts)}`,
    facts: { account_id: OWNER.account_id, account_name: ['text', 'Its name'], ...CEILING },
    lasts: false,
    message: (facts) => `account ${facts.account_name} ${used(facts)}`,
    hint: (facts) => liftBy(facts, `accounts set-limits ${facts.account_id}`),
  },
  'gateway.end_user_ceiling': {
    title: 'An end user of a key has used a share of its spend ceiling',
    severity: () => 'warning',
    subject: (facts) => `${facts.key_id} ${ofCeiling(facts)} ${facts.end_user}`,
    facts: { ...KEY_CEILING, end_user: ['text', 'The end user, as requests name it (`user`)'] },
    lasts: false,
    message: (facts) => `end user ${facts.end_user} of key ${facts.key_name} ${used(facts)}`,
    hint: liftOfKey,
  },
  'gateway.charge_beyond_hold': {
    title: 'A request cost more than was held for it; once a day for each model',
    severity: () => 'warning',
    subject: ({ provider, model, day }) => `${provider} ${model} ${day}`,
    facts: {
      ...OWNER,
      generation_id: ['text', 'The request'],
      provider: PROVIDER,
      model: ['text', 'The model'],
      held_usd: ['usd', 'What was held'],
      charged_usd: ['usd', 'What was charged'],
      day: ['text', 'The UTC day'],
    },
    lasts: false,
    message: ({ generation_id, provider, model, held_usd, charged_usd }) =>
      `${model} at ${provider} cost $${charged_usd}, and $${held_usd} was held for it (${generation_id}): the provider counted more than it was bound to`,
    hint: ({ provider }) =>
      `promise less to a server that takes no bound: gatewayctl providers edit ${provider} --output-bound none`,
  },
  'gateway.provider_resting': {
    title: 'A provider keeps failing, and requests avoid it',
    severity: () => 'critical',
    subject: ({ provider }) => provider,
    facts: {
      provider: PROVIDER,
      models: MODELS,
      failures: ['count', 'Failures in a row'],
      reason: ['text', 'The kind of the last one: `failed`, `timeout`, `overloaded`'],
      status: STATUS,
    },
    lasts: true,
    message: ({ provider, failures, reason, status, models }) =>
      `provider ${provider} rests after ${failures} failures in a row (${reason}${status === null ? '' : ` ${status}`}): ${models.join(', ')}`,
    hint: ({ provider }) =>
      `lifts by itself once it answers; look at it: gatewayctl providers test ${provider}`,
  },
  'gateway.provider_recovered': {
    title: 'A provider that rested, or rejected its credential, answers again',
    severity: () => 'info',
    subject: ({ event_id }) => event_id,
    facts: {
      provider: PROVIDER,
      credential: ['text or null', 'Its credential, where that alone was rejected'],
      event_id: ['text', 'The event that told of the trouble'],
    },
    lasts: false,
    message: ({ provider, credential }) =>
      credential === null
        ? `provider ${provider} answers again`
        : `provider ${provider} accepts its credential ${credential} again`,
    hint: () => 'nothing to do',
  },
  'gateway.credential_rejected': {
    title:
      "A provider rejects the gateway's credential (401 or 403), or one of several is out of credit",
    severity: () => 'critical',
    subject: ({ provider, credential }) =>
      credential === null ? provider : `${provider} ${credential}`,
    facts: {
      provider: PROVIDER,
      credential: ['text or null', 'Its name, where the provider has several'],
      models: ['list', 'The models that fail; empty for a credential of several'],
      status: STATUS,
    },
    lasts: true,
    message: ({ provider, credential, status, models }) =>
      `provider ${provider} rejects its credential${credential === null ? '' : ` ${credential}`}${status === null ? '' : ` (${status})`}${models.length === 0 ? '' : `: ${models.join(', ')}`}`,
    hint: ({ provider, credential }) =>
      `lifts once it answers; give it another: gatewayctl providers ${credential === null ? `edit ${provider}` : `credentials add ${provider} ${credential}`} --from-env VARIABLE`,
  },
  'gateway.certificate_ending': {
    title: 'The TLS certificate of a provider ends within two weeks, or has ended',
    severity: ({ days_left }) => (days_left === 0 ? 'critical' : 'warning'),
    subject: ({ host, ends_at, days_left }) =>
      `${host} ${ends_at} ${days_left === 0 ? 'ended' : 'ending'}`,
    facts: {
      host: ['text', 'The host of the provider'],
      ends_at: ['time', 'When it ends'],
      days_left: ['count', 'Whole days until then; 0 for one that has ended'],
    },
    lasts: false,
    message: ({ host, ends_at, days_left }) =>
      days_left === 0
        ? `the certificate of ${host} ended, or ends today: ${ends_at}`
        : `the certificate of ${host} ends in ${days_left} days: ${ends_at}`,
    hint: ({ host }) => `renew it where ${host} is served, or tell whoever does`,
  },
  'gateway.bill_differs': {
    title: "A vendor's bill has more that nothing explains than is tolerated",
    severity: () => 'warning',
    subject: ({ provider }) => provider,
    facts: {
      provider: PROVIDER,
      since: ['time', 'The first day of the bill'],
      until: ['time', 'Its end, exclusive'],
      unexplained_usd: ['usd', 'What nothing explains'],
      tolerance_percent: ['text', 'The share of the bill that may stay so'],
    },
    lasts: true,
    message: ({ provider, since, until, unexplained_usd, tolerance_percent }) =>
      `of the bill of ${provider} from ${since.slice(0, 10)} to ${until.slice(0, 10)}, $${unexplained_usd} is explained by no request, more than ${tolerance_percent} %`,
    hint: ({ provider, since, until }) =>
      `lifts with the next bill that is explained; look at it: gatewayctl reconcile ${provider} --since ${since.slice(0, 10)} --until ${until.slice(0, 10)}`,
  },
  'gateway.backup_failed': {
    title: 'A backup failed',
    severity: () => 'critical',
    subject: () => 'backup',
    facts: {
      file: ['text or null', 'Where it was to be; null for the usual directory'],
      reason: ['text', 'Why'],
    },
    lasts: true,
    message: ({ reason }) => `a backup failed: ${reason}`,
    hint: () => 'lifts with the next backup that succeeds: gatewayctl backup --verify',
  },
  'gateway.sweep_failed': {
    title: 'Expired data could not be removed',
    severity: () => 'warning',
    subject: () => 'sweep',
    facts: { reason: ['text', 'Why'] },
    lasts: true,
    message: ({ reason }) => `expired data could not be removed: ${reason}`,
    hint: () => 'lifts with the next sweep, within the hour; look at it: gatewayctl doctor',
  },
  'gateway.disk_low': {
    title: 'The disk of the data directory is nearly full',
    severity: ({ level }) => (level === 'full' ? 'critical' : 'warning'),
    subject: ({ level }) => level,
    facts: {
      directory: ['text', 'The data directory'],
      free_bytes: ['count', 'What is free'],
      free_percent: ['count', 'Its share of the disk'],
      level: ['text', '`low`; or `full`: less than 256 MB'],
    },
    lasts: true,
    message: ({ directory, free_bytes, free_percent }) =>
      `the disk of ${directory} is nearly full: ${Math.floor(free_bytes / MEGABYTE)} MB free (${free_percent}%)`,
    hint: ({ directory }) => `lifts once there is room: df -h ${directory}`,
  },
  'gateway.clock_wrong': {
    title: 'The clock of the machine jumped',
    severity: () => 'critical',
    subject: () => 'clock',
    facts: {
      ahead_seconds: ['count', 'By how much it went ahead of the time that passed; negative: back'],
    },
    lasts: true,
    message: ({ ahead_seconds: seconds }) =>
      `the clock of the machine jumped ${seconds < 0 ? 'back' : 'ahead'} by ${Math.abs(seconds)} s: windows, ceilings and signatures depend on it`,
    hint: () => 'set it right: date -u; timedatectl set-ntp true',
  },
  'gateway.test': {
    title: 'A test: nothing has happened',
    severity: () => 'info',
    subject: () => '',
    facts: {},
    lasts: false,
    message: () =>
      'this is a test: somebody asked whether notices arrive here; nothing has happened',
    hint: () => 'nothing to do',
  },
}

const MEGABYTE = 1_000_000

export const CAUSE_NAMES = Object.keys(CAUSES) as readonly CauseName[]
