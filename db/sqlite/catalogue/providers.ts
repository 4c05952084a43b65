/** Providers in SQLite; their credentials are sealed by the vault before they touch the disk. */
import { asc, eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import { amendProvider } from '#domain/amend-provider.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Provider, Providers } from '#domain/provider.ts'
import type { Connection } from '../engine/connection.ts'
import { requireVault } from '../engine/require-vault.ts'
import { models, providers } from '../schema.ts'

const place = (name: string): string => `providers|credential|${name}|v1`

export function createProviders(connection: Connection, modelsChanged: () => void): Providers {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })
  let known: Map<string, Provider> | null = null

  const all = (): Map<string, Provider> => {
    if (known) return known
    commit.flush()
    const rows = drizzle.select().from(providers).orderBy(asc(providers.name)).all()
    known = new Map(
      rows.map(({ sealedCredential, ...row }) => [
        row.name,
        { ...row, hasCredential: sealedCredential !== null },
      ]),
    )
    return known
  }

  const changed = (): void => {
    known = null
    modelsChanged()
  }

  return {
    async add({ hasCredential: _, ...row }, credential) {
      const sealedCredential =
        credential === null ? null : requireVault(connection).seal(credential, place(row.name))
      await commit.commitDurably(() => {
        if (all().has(row.name)) {
          throw new GatewayError('already_exists', `there is already a provider "${row.name}"`)
        }
        drizzle
          .insert(providers)
          .values({ ...row, sealedCredential })
          .run()
      }, changed)
    },
    find(name) {
      return all().get(name)
    },
    async list() {
      return [...all().values()]
    },
    async edit(name, amendment) {
      const { credential } = amendment
      const sealed = credential ? requireVault(connection).seal(credential, place(name)) : null
      return await commit.commitDurably(() => {
        const before = requireProvider(all(), name)
        const after = amendProvider(before, amendment)
        const { hasCredential: _, ...row } = after
        drizzle
          .update(providers)
          .set({ ...row, ...(credential !== undefined && { sealedCredential: sealed }) })
          .where(eq(providers.name, name))
          .run()
        if (after.type !== before.type) {
          drizzle.update(models).set({ isCatalogued: false }).where(eq(models.provider, name)).run()
        }
        return after
      }, changed)
    },
    async learnBound({ name, type, baseUrl }, learnedBound) {
      await commit.commitDurably(
        () => {
          const now = all().get(name)
          const isOpen = now?.outputBound === null && now.learnedBound === null
          if (!isOpen || now.type !== type || now.baseUrl !== baseUrl) return false
          drizzle.update(providers).set({ learnedBound }).where(eq(providers.name, name)).run()
          return true
        },
        (isNew) => {
          if (isNew) changed()
        },
      )
    },
    remove: (name) =>
      commit.commitDurably(() => {
        requireProvider(all(), name)
        drizzle.delete(providers).where(eq(providers.name, name)).run()
      }, changed),
    async credential(name) {
      const row = drizzle.select().from(providers).where(eq(providers.name, name)).get()
      if (!row) throw providerNotFound(name)
      return row.sealedCredential === null
        ? null
        : requireVault(connection).open(row.sealedCredential, place(name))
    },
  }
}

function requireProvider(known: Map<string, Provider>, name: string): Provider {
  const provider = known.get(name)
  if (provider === undefined) throw providerNotFound(name)
  return provider
}

export const providerNotFound = (name: string): GatewayError =>
  new GatewayError('provider_not_found', `there is no provider "${name}"`, {
    hint: 'gatewayctl providers list',
  })
