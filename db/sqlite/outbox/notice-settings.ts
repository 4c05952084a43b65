/** The settings of notices in SQLite: read once, and by every event that is raised. */
import {
  DEFAULT_NOTICE_SETTINGS,
  type NoticeSettings,
  type NoticeSettingsStore,
} from '#domain/notice-settings.ts'
import { changeSettings, readSettings, webhookSecret } from '../../outbox/notice-settings.ts'
import type { ReadSettings } from '../../outbox/raise.ts'
import type { Statements } from '../../statements.ts'
import type { Connection } from '../engine/connection.ts'
import { engineOf, prepareRunNow } from '../engine/engine.ts'

export interface HeldNoticeSettings {
  /** As they are now; read from the table the first time. */
  current(): NoticeSettings
  /** The same, in the transaction that is open. */
  readonly read: ReadSettings
  /** Reads them again. */
  forget(): void
}

export function holdNoticeSettings({ database }: Connection): HeldNoticeSettings {
  const runNow = prepareRunNow(database)
  let held: NoticeSettings | null = null
  function* read(): Statements<NoticeSettings> {
    try {
      held ??= yield* readSettings()
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      // Of values that cannot be read: an event, and the charge beside it, must be written all the same.
      return DEFAULT_NOTICE_SETTINGS
    }
    return held
  }
  return {
    current: () => held ?? runNow(read()),
    read,
    forget() {
      held = null
    },
  }
}

/** `changed` is called in the turn of a change. */
export function createNoticeSettings(
  connection: Connection,
  held: HeldNoticeSettings,
  changed: () => void,
): NoticeSettingsStore {
  const engine = engineOf(connection)
  const { database, commit } = connection
  const runNow = prepareRunNow(database)
  return {
    find: async () => held.current(),
    set: (change, offer, act) =>
      commit.commitDurably(
        () => runNow(changeSettings(connection, change, offer, act)),
        () => {
          held.forget()
          changed()
        },
      ),
    webhookSecret: () => webhookSecret(engine),
  }
}
