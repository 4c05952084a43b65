/** Accounts in SQLite. */
import { asc, eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Accounts } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Connection } from './connection.ts'
import { accounts } from './schema.ts'

export function createAccounts({ database, commit }: Connection): Accounts {
  const drizzle = openDrizzle({ client: database })

  return {
    async create(account) {
      await commit.act(() => {
        const taken = drizzle.select().from(accounts).where(eq(accounts.name, account.name)).get()
        if (taken)
          throw new GatewayError('already_exists', `there is already an account "${account.name}"`)
        drizzle.insert(accounts).values(account).run()
      })
    },
    async find(id) {
      commit.flush()
      return drizzle.select().from(accounts).where(eq(accounts.id, id)).get()
    },
    async findByName(name) {
      commit.flush()
      return drizzle.select().from(accounts).where(eq(accounts.name, name)).get()
    },
    async list() {
      commit.flush()
      return drizzle.select().from(accounts).orderBy(asc(accounts.id)).all()
    },
  }
}
