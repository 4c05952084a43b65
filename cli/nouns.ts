/** The table of commands: nouns, their verbs, and the file of each, loaded on demand. */
import type { Mount } from './action.ts'

type Load = () => Promise<{ readonly mount: Mount }>

export interface Noun {
  readonly summary: string
  /** Set when the noun is a command without verbs. */
  readonly command?: Load
  readonly verbs: Readonly<Record<string, Load>>
  /** The default verb of the noun. */
  readonly bare: string
}

const alone = (summary: string, command: Load): Noun => ({ summary, command, verbs: {}, bare: '' })

export const NOUNS: Readonly<Record<string, Noun>> = {
  init: alone(
    'create the data directory, a demo provider and a first key',
    () => import('./init.ts'),
  ),
  serve: alone('run the gateway (default http://127.0.0.1:4140)', () => import('./serve.ts')),
  status: alone('is it running, is it healthy, what is it spending', () => import('./status.ts')),
  dashboard: alone(
    'live requests, limits and spend in this terminal',
    () => import('./dashboard.ts'),
  ),
  keys: {
    summary: 'create, list, show, edit, rotate, revoke',
    bare: 'list',
    verbs: {
      create: () => import('./keys/create.ts'),
      list: () => import('./keys/list.ts'),
      show: () => import('./keys/show.ts'),
      edit: () => import('./keys/edit.ts'),
      rotate: () => import('./keys/rotate.ts'),
      revoke: () => import('./keys/revoke.ts'),
    },
  },
  limits: {
    summary: 'requests, concurrency, spend and models of a key',
    bare: 'show',
    verbs: {
      show: () => import('./limits/show.ts'),
      set: () => import('./limits/set.ts'),
    },
  },
  accounts: {
    summary: 'owners of keys and a balance, their people and limits',
    bare: 'list',
    verbs: {
      list: () => import('./accounts/list.ts'),
      show: () => import('./accounts/show.ts'),
      create: () => import('./accounts/create.ts'),
      rename: () => import('./accounts/rename.ts'),
      edit: () => import('./accounts/edit.ts'),
      members: () => import('./accounts/members.ts'),
      'set-limits': () => import('./accounts/set-limits.ts'),
      'move-key': () => import('./accounts/move-key.ts'),
      close: () => import('./accounts/close.ts'),
    },
  },
  providers: {
    summary: 'upstream accounts',
    bare: 'list',
    verbs: {
      add: () => import('./providers/add.ts'),
      list: () => import('./providers/list.ts'),
      show: () => import('./providers/show.ts'),
      edit: () => import('./providers/edit.ts'),
      credentials: () => import('./providers/credentials.ts'),
      test: () => import('./providers/test.ts'),
      remove: () => import('./providers/remove.ts'),
    },
  },
  models: {
    summary: 'catalogue, prices, routes, aliases',
    bare: 'list',
    verbs: {
      list: () => import('./models/list.ts'),
      show: () => import('./models/show.ts'),
      add: () => import('./models/add.ts'),
      price: () => import('./models/price.ts'),
      route: () => import('./models/route.ts'),
      alias: () => import('./models/alias.ts'),
      unalias: () => import('./models/unalias.ts'),
      refresh: () => import('./models/refresh.ts'),
      remove: () => import('./models/remove.ts'),
    },
  },
  export: alone(
    "write this gateway's configuration as a file, without secrets",
    () => import('./export.ts'),
  ),
  apply: alone('apply such a file, after showing the plan', () => import('./apply.ts')),
  balance: {
    summary: 'show, top-up, adjust',
    bare: 'show',
    verbs: {
      show: () => import('./balance/show.ts'),
      'top-up': () => import('./balance/top-up.ts'),
      adjust: () => import('./balance/adjust.ts'),
    },
  },
  ledger: {
    summary: 'every charge and credit',
    bare: 'list',
    verbs: { list: () => import('./ledger/list.ts') },
  },
  usage: {
    summary: 'report by key, user, model …; drift from providers',
    bare: 'report',
    verbs: {
      report: () => import('./usage/report.ts'),
      drift: () => import('./usage/drift.ts'),
    },
  },
  reconcile: alone(
    "compare with a vendor's bill, and explain the difference",
    () => import('./reconcile.ts'),
  ),
  store: {
    summary: 'a PostgreSQL that several nodes share: status, migrate, move',
    bare: 'status',
    verbs: {
      status: () => import('./store/status.ts'),
      migrate: () => import('./store/migrate.ts'),
      move: () => import('./store/move.ts'),
    },
  },
  nodes: {
    summary: 'the nodes that share it: list, end',
    bare: 'list',
    verbs: {
      list: () => import('./nodes/list.ts'),
      end: () => import('./nodes/end.ts'),
    },
  },
  rates: {
    summary: 'exchange rate to rubles',
    bare: 'show',
    verbs: {
      show: () => import('./rates/show.ts'),
      set: () => import('./rates/set.ts'),
    },
  },
  activity: {
    summary: 'tail or list requests, show a receipt, end one',
    bare: 'list',
    verbs: {
      tail: () => import('./activity/tail.ts'),
      list: () => import('./activity/list.ts'),
      show: () => import('./activity/show.ts'),
      kill: () => import('./activity/kill.ts'),
    },
  },
  why: alone('why a request was refused, and how to lift that', () => import('./why.ts')),
  audit: alone('verify every sum against the ledger', () => import('./audit.ts')),
  thresholds: {
    summary: 'low-balance threshold, e-mail and webhook',
    bare: 'show',
    verbs: {
      show: () => import('./thresholds/show.ts'),
      set: () => import('./thresholds/set.ts'),
      test: () => import('./thresholds/test.ts'),
    },
  },
  notices: {
    summary: 'what the gateway tells its operator, where and when',
    bare: 'list',
    verbs: {
      list: () => import('./notices/list.ts'),
      show: () => import('./notices/show.ts'),
      seen: () => import('./notices/seen.ts'),
      test: () => import('./notices/test.ts'),
      settings: () => import('./notices/settings.ts'),
      set: () => import('./notices/set.ts'),
    },
  },
  deliveries: {
    summary: 'sent notices and their delivery attempts',
    bare: 'list',
    verbs: {
      list: () => import('./deliveries/list.ts'),
      show: () => import('./deliveries/show.ts'),
      redeliver: () => import('./deliveries/redeliver.ts'),
    },
  },
  clients: {
    summary: 'applications that people sign in to',
    bare: 'list',
    verbs: {
      create: () => import('./clients/create.ts'),
      list: () => import('./clients/list.ts'),
      show: () => import('./clients/show.ts'),
      edit: () => import('./clients/edit.ts'),
      'rotate-secret': () => import('./clients/rotate-secret.ts'),
      remove: () => import('./clients/remove.ts'),
      'rotate-signing-key': () => import('./clients/rotate-signing-key.ts'),
    },
  },
  users: {
    summary: 'people who sign in',
    bare: 'list',
    verbs: {
      list: () => import('./users/list.ts'),
      show: () => import('./users/show.ts'),
      add: () => import('./users/add.ts'),
      edit: () => import('./users/edit.ts'),
      events: () => import('./users/events.ts'),
      'test-mail': () => import('./users/test-mail.ts'),
      disable: () => import('./users/disable.ts'),
      enable: () => import('./users/enable.ts'),
      remove: () => import('./users/remove.ts'),
      sessions: () => import('./users/sessions.ts'),
      access: () => import('./users/access.ts'),
      passkeys: () => import('./users/passkeys.ts'),
      identities: () => import('./users/identities.ts'),
    },
  },
  groups: {
    summary: 'people who may enter an application together',
    bare: 'list',
    verbs: {
      list: () => import('./groups/list.ts'),
      show: () => import('./groups/show.ts'),
      add: () => import('./groups/add.ts'),
      remove: () => import('./groups/remove.ts'),
    },
  },
  identities: {
    summary: 'external sign-in: Google, GitHub …',
    bare: 'list',
    verbs: {
      add: () => import('./identities/add.ts'),
      list: () => import('./identities/list.ts'),
      show: () => import('./identities/show.ts'),
      edit: () => import('./identities/edit.ts'),
      remove: () => import('./identities/remove.ts'),
    },
  },
  backup: alone('consistent copy while serving, and restore', () => import('./backup.ts')),
  config: {
    summary: 'effective settings',
    bare: 'show',
    verbs: {
      show: () => import('./config/show.ts'),
      check: () => import('./config/check.ts'),
      path: () => import('./config/path.ts'),
    },
  },
  completion: alone('bash, zsh, fish, powershell', () => import('./completion.ts')),
  doctor: alone('check this installation', () => import('./doctor.ts')),
}
