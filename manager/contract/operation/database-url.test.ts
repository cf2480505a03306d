import { describe, expect, test } from 'vitest'
import { urlsOfServers } from './database-url.ts'

describe('the servers of a URL', () => {
  test.each<[string, readonly string[] | undefined]>([
    ['postgresql://u:p@db/berth', ['postgresql://u:p@db/berth']],
    ['postgres://db:5433/berth?sslmode=require', ['postgres://db:5433/berth?sslmode=require']],
    ['postgresql://%2Frun%2Fpostgresql:5432/berth', ['postgresql://%2Frun%2Fpostgresql:5432/berth']],
    ['postgresql:///berth?host=/run/postgresql', ['postgresql:///berth?host=/run/postgresql']],
    [
      'postgresql://u:p%40,q@one:5432,two:5433/berth?sslmode=verify-full',
      [
        'postgresql://u:p%40,q@one:5432/berth?sslmode=verify-full',
        'postgresql://u:p%40,q@two:5433/berth?sslmode=verify-full',
      ],
    ],
    ['postgresql://one,two/berth', ['postgresql://one/berth', 'postgresql://two/berth']],
    ['postgresql://[::1]:5432,[fe80::1]/berth', ['postgresql://[::1]:5432/berth', 'postgresql://[fe80::1]/berth']],
    [
      'postgresql://one,two/berth?target_session_attrs=read-write&sslmode=require',
      ['postgresql://one/berth?sslmode=require', 'postgresql://two/berth?sslmode=require'],
    ],
    ['postgresql://one/berth?target_session_attrs=primary', ['postgresql://one/berth']],
    ['postgresql://one,two/berth?target_session_attrs=standby', undefined],
    ['postgresql://one,/berth', undefined],
    ['postgresql://one:port,two/berth', undefined],
    ['mysql://one/berth', undefined],
    ['one', undefined],
    ['', undefined],
  ])('%s', (text, urls) => {
    expect(urlsOfServers(text)).toEqual(urls)
  })
})
