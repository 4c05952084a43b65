// The address of a shared store, as people write it.
import { expect, test } from 'vitest'
import { nameOf, readAddress } from '#db/postgres/engine/address.ts'

test.each([
  ['postgres://u@db1/d', 'db1:5432'],
  ['postgres://u@db1:5433,[::1],db2:6000/d', 'db1:5433 ::1:5432 db2:6000'],
  ['postgres://u@/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5432'],
  ['postgres://u@:5433/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5433'],
  ['postgres://u@localhost:5433/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5433'],
])('%s is at %s', (text, hosts) => {
  expect(readAddress(text).hosts.map(nameOf).join(' ')).toBe(hosts)
})

test.each([
  'postgres://u@db1:0/d',
  'postgres://u@db1:70000/d',
  'postgres://u@/d',
  'postgres://u@:5433/d',
  'postgres://u@:x/d?host=/run/postgresql',
  'postgres://u@:1,:2/d?host=/run/postgresql',
])('%s is refused, without repeating it', (text) => {
  expect(() => readAddress(text)).toThrow(/^names a host that cannot be/)
})
