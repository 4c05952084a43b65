/** The tables of the model of PostgreSQL, as far as requests and nodes reach. Amounts are whole nano-dollars. */
import type { Account } from '#domain/account.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Customer } from '../clients.ts'
import type { Furniture } from '../furnish.ts'

/** A line of the log by its columns. */
export type Line = Readonly<Record<string, string | number | boolean | null>>

export interface Hold {
  readonly generation: string
  readonly request: string
  readonly node: string
  readonly epoch: string
  readonly key: string
  readonly account: string
  readonly model: string
  readonly endUser: string | null
  readonly surface: string
  readonly session: string | null
  readonly admittedAt: number
  readonly day: number
  readonly tokens: number
  amount: number
  repeat: string | null
  digest: string | null
  endedAt: number | null
}

export interface Slot {
  readonly generation: string
  readonly key: string
  readonly account: string
  readonly at: number
  readonly place: number
}

export interface Charge {
  readonly generation: string
  readonly account: string
  readonly key: string
  readonly day: number
  readonly amount: number
}

export interface KeptAnswer {
  readonly id: number
  readonly key: string
  readonly name: string
  readonly digest: string
  readonly generation: string
  readonly contentType: string
  readonly bytes: number
  readonly createdAt: number
  readonly pieces: Map<number, Buffer>
  isWhole: boolean
}

export interface NodeRow {
  epoch: string
  beatAt: number
  beatingSince: number
}

/** What admission changes of a key or an account, beside the rows from which it can be added up. */
export interface Sums {
  held: number
  inProgress: number
}

/** The time line of an account: `place_of`. */
export interface TimeLine {
  place: number
  setBack: number
  steps: readonly number[]
  newestAt: number
  steppedTo: number
}

/** All of it: made anew from what was written, after a crash. */
export class Tables {
  readonly keys: ReadonlyMap<string, ApiKey>
  readonly accounts: ReadonlyMap<string, Account>
  readonly customers: readonly Customer[]
  readonly keySums: Map<string, Sums>
  readonly accountSums: Map<string, Sums>
  readonly balances: Map<string, number>
  readonly lines: Map<string, TimeLine>
  readonly nodes = new Map<string, NodeRow>()
  readonly endedEpochs = new Set<string>()
  readonly givenUp = new Map<string, number>()
  readonly holds = new Map<string, Hold>()
  readonly slots: Slot[] = []
  readonly ledger = new Map<string, Charge>()
  readonly activity = new Map<string, Line>()
  readonly answers = new Map<number, KeptAnswer>()
  /** Names whose request was ended while it ran. */
  readonly endedNames = new Set<string>()
  /** Keys that ran more at once than they may. */
  readonly overruns = new Set<string>()
  catalogueVersion: number

  constructor({ keys, accounts, customers }: Furniture, catalogueVersion: number) {
    this.keys = new Map(keys.map((key) => [key.id, key]))
    this.accounts = new Map(accounts.map((account) => [account.id, account]))
    this.customers = customers
    this.keySums = new Map(keys.map(({ id }) => [id, { held: 0, inProgress: 0 }]))
    this.accountSums = new Map(accounts.map(({ id }) => [id, { held: 0, inProgress: 0 }]))
    this.balances = new Map(accounts.map(({ id, balance }) => [id, Number(balance)]))
    this.lines = new Map(accounts.map(({ id }) => [id, NO_TIME]))
    this.catalogueVersion = catalogueVersion
  }
}

const NO_TIME: TimeLine = { place: 0, setBack: 0, steps: [], newestAt: 0, steppedTo: 0 }

/** A row that has to be there: the model has as many keys and accounts as were furnished. */
export function rowOf<Row>(rows: ReadonlyMap<string, Row>, id: string): Row {
  const row = rows.get(id)
  if (row === undefined) throw new Error(`the model has no row ${id}`)
  return row
}
