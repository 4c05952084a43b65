/** Whether this is the master key of the database: a word that it has sealed. */
import { GatewayError } from '#domain/errors.ts'
import type { Vault } from '../vault.ts'
import type { Sql } from './engine/database.ts'

const WORD = 'sealed_word'

/** Secrets that one node has sealed must be readable for every other: the first that comes seals a word. @throws store_unavailable */
export async function requireSameKey(sql: Sql, vault: Vault): Promise<void> {
  const read = () => sql.get<{ sealed: string }>('SELECT sealed FROM sealed_word')
  let row = await read()
  if (row === null) {
    await sql.run(
      'INSERT INTO sealed_word VALUES (1, ?) ON CONFLICT DO NOTHING',
      vault.seal('gatewayctl', WORD),
    )
    row = await read()
  }
  try {
    vault.open(row?.sealed ?? '', WORD)
  } catch (cause) {
    throw new GatewayError(
      'store_unavailable',
      'this is not the master key by which the secrets of this database were sealed',
      { permanent: true, hint: 'GATEWAY_MASTER_KEY_FILE: the same file at every node', cause },
    )
  }
}
