// The store that a node serves from, as `serve` opens it.
import { expect, onTestFinished, test } from 'vitest'
import { openContext } from '#cli/context.ts'
import { openStoreOf } from '#cli/gateway/open-operator.ts'
import { FUNCTIONS } from '#db/postgres/engine/versions.ts'
import { systemClock } from '#domain/clock.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { aClaim, aKey, anAccount, anAct, aTopUp, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const cluster = clusterForAll(POSTGRES_BIN)

  test('is that of the epoch which the node has after it was ended and came back', async () => {
    const address = await cluster.create()
    const home = tempDirectory()
    const env = {
      HOME: home,
      GATEWAY_STORE: storeText(address),
      GATEWAY_NODE: 'a',
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    }
    const context = openContext({ dataDir: home }, env, [])
    const options = { create: true, upgrade: true, withMasterKey: true, serves: true }
    const store = await openStoreOf(context, options)
    onTestFinished(() => store.close())
    const account = anAccount()
    await store.accounts.create(account, anAct())
    await store.ledger.credit(
      aTopUp(systemClock.now(), usd('10'), { accountId: account.id }),
      anAct(),
    )
    const secret = newSecret()
    const key = aKey(systemClock.now(), {}, { accountId: account.id, label: labelOf(secret) })
    await store.keys.issue(key, secret, anAct())
    const admit = () => {
      const { owner, catalogue } = store
      const claim = { ...aClaim(key, systemClock.now()), owner }
      return store.admissions.admit({ ...claim, catalogue: catalogue.current().version })
    }
    expect(await admit()).toMatchObject({ admitted: true })
    const { epoch } = store.owner
    const ends = `SELECT ${FUNCTIONS}.end_epochs(ARRAY['${epoch}'], ARRAY['a'], ${systemClock.now()}, 'released')`
    await cluster.run(address, `SET search_path = ${FUNCTIONS}, public; ${ends}`)
    // It is told with the first answer, and has joined before it hears of that.
    expect(await admit()).toBe('stale')
    expect(store.owner.epoch).not.toBe(epoch)
    expect(await admit()).toMatchObject({ admitted: true })
  })
}
