// What each command prints under --json: a list of one means an array. The schemas are made of these types.

import type { RestoreRecord } from '#cli/backup/restore.ts'
import type { BackupRecord } from '#cli/backup/take.ts'
import type { ConfigCheckRecord } from '#cli/config/check.ts'
import type { ConfigPathRecord } from '#cli/config/path.ts'
import type { SettingRecord } from '#cli/config/show.ts'
import type { MigrationRecord } from '#cli/store/migrate.ts'
import type { MoveRecord } from '#cli/store/move.ts'
import type { StoreStatusRecord } from '#cli/store/status.ts'
import type { NodeRecord } from '#domain/node.ts'
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import type { TailRecord } from '#operator/tail.ts'
import type { VerbRecord } from '#operator/verbs.ts'

type Revoked = VerbRecord<'keys.revoke'>
type Amended = VerbRecord<'limits.set'>
type Person = VerbRecord<'users.show'>

/** By the words of the command; with a flag where that prints another document. */
export interface JsonRecords {
  init: { readonly data_dir: string } & VerbRecord<'init'>
  status: VerbRecord<'status'>
  'keys create': VerbRecord<'keys.create'>
  'keys list': VerbRecord<'keys.list'>
  'keys show': VerbRecord<'keys.show'>
  'keys edit': VerbRecord<'keys.edit'>
  'keys rotate': VerbRecord<'keys.rotate'>
  /** Several keys make a list. */
  'keys revoke': Revoked | readonly Revoked[]
  /** One key alone is no list. */
  'limits show': VerbRecord<'limits.show'> | VerbRecord<'limits.show'>[number]
  /** Several keys make a list. */
  'limits set': Amended | Amended[number]
  'accounts list': VerbRecord<'accounts.list'>
  'accounts show': VerbRecord<'accounts.show'>
  'accounts create': VerbRecord<'accounts.create'>
  'accounts rename': VerbRecord<'accounts.rename'>
  'accounts edit': VerbRecord<'accounts.edit'>
  /** By the action. */
  'accounts members':
    | VerbRecord<'accounts.members.list'>
    | VerbRecord<'accounts.members.add'>
    | VerbRecord<'accounts.members.set-role'>
    | VerbRecord<'accounts.members.remove'>
  'accounts set-limits': VerbRecord<'accounts.set-limits'>
  'accounts move-key': VerbRecord<'accounts.move-key'>
  'accounts close': VerbRecord<'accounts.close'>
  'providers add': VerbRecord<'providers.add'> & {
    /** What it answered when it was looked at; null where it was not. */
    readonly check: VerbRecord<'providers.test'>[number] | null
  }
  'providers list': VerbRecord<'providers.list'>
  'providers show': VerbRecord<'providers.show'>
  'providers edit': VerbRecord<'providers.edit'>
  'providers credentials': VerbRecord<'providers.credentials.list'>
  'providers test': VerbRecord<'providers.test'>
  'providers remove': VerbRecord<'providers.remove'>
  'models list': VerbRecord<'models.list'>
  'models show': VerbRecord<'models.show'>
  'models add': VerbRecord<'models.add'>
  'models price': VerbRecord<'models.price'>
  'models price --clear': VerbRecord<'models.unprice'>
  'models route': VerbRecord<'models.route.show'> | VerbRecord<'models.route.list'>
  'models alias': VerbRecord<'models.alias.list'> | VerbRecord<'models.alias.set'>
  'models unalias': VerbRecord<'models.alias.remove'>
  'models refresh': VerbRecord<'models.refresh'>
  'models refresh --dry-run': VerbRecord<'models.refresh.plan'>
  'models remove': VerbRecord<'models.remove'>
  'balance show': VerbRecord<'balance.show'>
  'balance top-up': VerbRecord<'balance.top-up'>
  'balance adjust': VerbRecord<'balance.adjust'>
  'ledger list': VerbRecord<'ledger.list'>
  'usage report': VerbRecord<'usage.report'>
  'usage drift': VerbRecord<'usage.drift'>
  reconcile: VerbRecord<'reconcile'>
  'rates show': VerbRecord<'rates.show'>
  'rates set': VerbRecord<'rates.set'>
  /** One document a line. */
  'activity tail': TailRecord
  'activity list': VerbRecord<'activity.list'>
  'activity list --admin': VerbRecord<'acts.list'>
  'activity show': VerbRecord<'activity.show'>
  'activity kill': VerbRecord<'activity.kill'>
  why: VerbRecord<'why'>
  audit: VerbRecord<'audit'>
  'thresholds show': VerbRecord<'thresholds.show'>
  'thresholds set': VerbRecord<'thresholds.set'>
  'thresholds test': VerbRecord<'deliveries.show'>
  'notices list': VerbRecord<'notices.list'>
  'notices show': VerbRecord<'notices.show'>
  'notices seen': VerbRecord<'notices.seen'>
  'notices test': VerbRecord<'deliveries.show'>
  'notices settings': VerbRecord<'notices.settings'>
  'notices set': VerbRecord<'notices.set'>
  'deliveries list': VerbRecord<'deliveries.list'>
  'deliveries show': VerbRecord<'deliveries.show'>
  'deliveries redeliver': VerbRecord<'deliveries.redeliver'>
  'clients create': VerbRecord<'clients.create'>
  'clients list': VerbRecord<'clients.list'>
  'clients show': VerbRecord<'clients.show'>
  'clients edit': VerbRecord<'clients.edit'>
  'clients rotate-secret': VerbRecord<'clients.rotate-secret'>
  'clients remove': VerbRecord<'clients.remove'>
  'clients rotate-signing-key': VerbRecord<'clients.rotate-signing-key'>
  'users list': VerbRecord<'users.list'>
  'users show': Person
  'users add': VerbRecord<'users.add'>
  'users edit': VerbRecord<'users.edit'>
  'users events': VerbRecord<'users.events'>
  'groups list': VerbRecord<'groups.list'>
  'groups show': VerbRecord<'groups.show'>
  'groups add': VerbRecord<'groups.add'>
  'groups remove': VerbRecord<'groups.remove'>
  'users test-mail': VerbRecord<'users.test-mail'>
  'users disable': VerbRecord<'users.disable'>
  'users enable': VerbRecord<'users.enable'>
  'users remove': VerbRecord<'users.remove'>
  /** By the action. */
  'users sessions':
    | VerbRecord<'users.sessions.list'>
    | VerbRecord<'users.sessions.end'>
    | VerbRecord<'users.sessions.revoke'>
  /** By the action. */
  'users access': VerbRecord<'users.access.list'> | VerbRecord<'users.access.withdraw'>
  'users passkeys': VerbRecord<'users.passkeys.list'> | VerbRecord<'users.passkeys.remove'>
  'users identities': VerbRecord<'users.identities.remove'>
  'identities add': VerbRecord<'identities.add'>
  'identities list': VerbRecord<'identities.list'>
  'identities show': VerbRecord<'identities.show'>
  'identities edit': VerbRecord<'identities.edit'>
  'identities remove': VerbRecord<'identities.remove'>
  backup: BackupRecord
  'backup --restore': RestoreRecord
  export: VerbRecord<'export'>
  apply: VerbRecord<'apply'>
  'apply --dry-run': VerbRecord<'plan'>
  dashboard: SnapshotRecord
  doctor: VerbRecord<'doctor'>
  'store status': StoreStatusRecord
  'store migrate': MigrationRecord
  'store move': MoveRecord
  'nodes list': readonly NodeRecord[]
  'nodes end': NodeRecord
  'config show': readonly SettingRecord[]
  'config check': ConfigCheckRecord
  'config path': ConfigPathRecord
  completion: { readonly shell: string; readonly script: string }
  /** Of any command that fails, on standard error. */
  error: {
    readonly error: {
      readonly code: string
      readonly message: string
      /** What to type next. */
      readonly hint: string | null
      readonly exit_code: number
    }
  }
}

export type JsonCommand = keyof JsonRecords
