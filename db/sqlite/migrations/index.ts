/** The migrations in their order, embedded in the binary; the schema version is how many of them have run. */
import house from './0001_house.sql' with { type: 'text' }

export const MIGRATIONS: readonly string[] = [house]
