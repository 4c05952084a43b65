// The address of a shared store, as people write it.
import { expect, test } from 'vitest'
import { nameOf, readAddress, renderAddress } from '#db/postgres/engine/address.ts'
import { unreachable } from '#db/postgres/engine/errors.ts'

test.each([
  ['postgres://u@db1/d', 'db1:5432'],
  ['postgres://u@db1:5433,[::1],db2:6000/d', 'db1:5433 [::1]:5432 db2:6000'],
  ['postgres://u@/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5432'],
  ['postgres://u@:5433/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5433'],
  ['postgres://u@localhost:5433/d?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5433'],
])('%s is at %s', (text, hosts) => {
  expect(readAddress(text).hosts.map(nameOf).join(' ')).toBe(hosts)
})

test.each([
  'postgres://u@db1:5433,[::1]:5432/d',
  'postgres://u@db1:5432/d?sslmode=disable',
  'postgres://u@db1:5432/d?sslmode=verify-full&sslrootcert=/etc/a%20root.pem',
  'postgres://u%40home@db1:5432/a%2Fd',
  'postgres://u@/d?host=/run/postgresql',
  'postgres://u@:5433/d?host=/run/a%26b',
])('%s is shown as it was written, but for the password', (text) => {
  const address = readAddress(text)
  expect(renderAddress(readAddress(text.replace('@', ':hush@')))).toBe(text)
  expect(readAddress(renderAddress(address))).toEqual(address)
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

test('an authority that nothing is verified by is refused', () => {
  for (const mode of ['', '&sslmode=require', '&sslmode=disable']) {
    const text = `postgres://u:hush@db1/d?sslrootcert=/etc/root.pem${mode}`
    expect(() => readAddress(text)).toThrow(/sslmode=verify-full$/)
  }
})

test('only a server that does not answer is to be started', () => {
  const silent = unreachable(new Map([['db1:5432', new Error('refused')]]))
  expect(silent.details.hint).toContain('start it')
  expect(unreachable(new Map()).details.hint).toBe('gatewayctl doctor')
})
