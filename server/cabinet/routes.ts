/** The addresses of the cabinet: what each needs, which the table of roles judges, and what answers. */
import type { VerbName } from '#operator/verbs.ts'
import type { Act, Show } from './draw/on-page.ts'
import { activityFile, showActivity } from './screens/activity.ts'
import {
  ledgerFile,
  redeliver,
  rotateSecret,
  setThreshold,
  showBalance,
  showWebhookSecret,
  testThreshold,
} from './screens/balance.ts'
import { completeLink, linkIdentity, unlinkIdentity } from './screens/identities.ts'
import {
  disableKey,
  editKey,
  revokeKey,
  rotateKey,
  setLimits,
  showKey,
  showRevocation,
} from './screens/key.ts'
import { showKeys } from './screens/keys.ts'
import { showMatches } from './screens/limit-fields.ts'
import { streamFigures } from './screens/live.ts'
import { showModel, showModels, tryModel } from './screens/models.ts'
import { createKey, showNewKey, showSecret } from './screens/new-key.ts'
import { showOverview } from './screens/overview.ts'
import { addPasskey, removePasskey } from './screens/passkeys.ts'
import {
  invite,
  inviteAgain,
  removeMember,
  setAllowance,
  setRole,
  showPeople,
  showRemoval,
} from './screens/people.ts'
import { showReceipt } from './screens/receipt.ts'
import { showSpend, spendFile } from './screens/spend.ts'
import {
  chooseLanguage,
  endAllSessions,
  endOneSession,
  showYou,
  withdrawAccess,
} from './screens/you.ts'

interface Place {
  readonly path: string
  /** The verb that the person's role must be permitted. */
  readonly needs: VerbName
}

export type Route =
  | (Place & { readonly method: 'GET'; readonly answer: Show })
  | (Place & {
      readonly method: 'POST'
      readonly answer: Act
      /** A prompt, which is paid for. */
      readonly isTry?: boolean
    })

const show = (path: string, needs: VerbName, answer: Show): Route => ({
  method: 'GET',
  path,
  needs,
  answer,
})

const act = (path: string, needs: VerbName, answer: Act): Route => ({
  method: 'POST',
  path,
  needs,
  answer,
})

/** An act that has no page of its own shows that of what it changes (`app.ts`). */
export const ROUTES: readonly Route[] = [
  show('/cabinet', 'accounts.overview', showOverview),
  show('/cabinet/live', 'accounts.figures', streamFigures),

  show('/cabinet/keys', 'keys.list', showKeys),
  show('/cabinet/keys/new', 'keys.create', showNewKey),
  act('/cabinet/keys/new', 'keys.create', createKey),
  show('/cabinet/keys/matches', 'keys.list', showMatches),
  show('/cabinet/keys/:key', 'keys.show', showKey),
  show('/cabinet/keys/:key/secret', 'keys.rotate', showSecret),
  act('/cabinet/keys/:key/limits', 'limits.set', setLimits),
  act('/cabinet/keys/:key/edit', 'keys.edit', editKey),
  act('/cabinet/keys/:key/disabled', 'keys.edit', disableKey),
  act('/cabinet/keys/:key/rotate', 'keys.rotate', rotateKey),
  show('/cabinet/keys/:key/revoke', 'keys.revoke', showRevocation),
  act('/cabinet/keys/:key/revoke', 'keys.revoke', revokeKey),

  show('/cabinet/activity', 'activity.search', showActivity),
  show('/cabinet/activity.csv', 'activity.list', activityFile),
  show('/cabinet/activity/:id', 'activity.show', showReceipt),

  show('/cabinet/spend', 'usage.report', showSpend),
  show('/cabinet/spend.csv', 'usage.report', spendFile),

  show('/cabinet/balance', 'balance.show', showBalance),
  show('/cabinet/balance.csv', 'ledger.list', ledgerFile),
  show('/cabinet/balance/secret', 'thresholds.set', showWebhookSecret),
  act('/cabinet/balance/threshold', 'thresholds.set', setThreshold),
  act('/cabinet/balance/secret', 'thresholds.set', rotateSecret),
  act('/cabinet/balance/test', 'thresholds.test', testThreshold),
  act('/cabinet/balance/deliveries', 'deliveries.redeliver', redeliver),

  show('/cabinet/models', 'models.list', showModels),
  show('/cabinet/models/:provider/:model{.+}', 'models.show', showModel),
  // It spends by a key that the person may make.
  {
    ...act('/cabinet/models/:provider/:model{.+}', 'keys.create', tryModel),
    isTry: true,
  } as Route,

  show('/cabinet/people', 'accounts.members.list', showPeople),
  act('/cabinet/people', 'accounts.members.invite', invite),
  act('/cabinet/people/:person/again', 'accounts.members.invite', inviteAgain),
  act('/cabinet/people/allowance', 'accounts.edit', setAllowance),
  act('/cabinet/people/:person/role', 'accounts.members.set-role', setRole),
  show('/cabinet/people/:person/remove', 'accounts.members.remove', showRemoval),
  act('/cabinet/people/:person/remove', 'accounts.members.remove', removeMember),

  show('/cabinet/you', 'users.show', showYou),
  act('/cabinet/you/language', 'users.language', chooseLanguage),
  act('/cabinet/you/sessions', 'users.sessions.end', endOneSession),
  act('/cabinet/you/sessions/all', 'users.sessions.revoke', endAllSessions),
  act('/cabinet/you/link', 'users.identities.add', linkIdentity),
  // Where the third party's answer comes in (`app.ts`); it is worth something once, and to this session alone.
  show('/cabinet/you/link/:provider', 'users.identities.add', completeLink),
  act('/cabinet/you/passkeys', 'users.passkeys.list', addPasskey),
  act('/cabinet/you/passkeys/remove', 'users.passkeys.remove', removePasskey),
  act('/cabinet/you/identities', 'users.identities.remove', unlinkIdentity),
  act('/cabinet/you/access', 'users.access.withdraw', withdrawAccess),
]
