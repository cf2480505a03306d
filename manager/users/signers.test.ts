import { expect, test } from 'vitest'
import { scriptedDatabase } from '../../test/fixtures/scripted-database.ts'
import { currentWork } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { createSigners } from './signers.ts'

test('the keypairs of all are read together, and each signature is noted on behalf of its person', async () => {
  const seen: (readonly [statement: string | undefined, who: string | undefined])[] = []
  const row = { id: 'ada', access_key: 'AKIA', keypair_active: true, active: true, domain_active: true, rate_limit: 9 }
  const db = scriptedDatabase(statement => {
    seen.push([/"keypair\w*"/.exec(statement.slice(statement.search(/from|into/)))?.[0], currentWork()?.who])
    return statement.startsWith('select') ? [row] : []
  })
  const rates = {
    take: () => {
      seen.push(['rates', currentWork()?.who])
      return Promise.resolve({ limit: 9, remaining: 8 })
    },
    giveBack: () => undefined,
  }
  const box = { open: () => 'secret' } as never
  using signers = createSigners({ store: { db, now: Date.now } as unknown as Store, box, rates })
  const claim = { accessKey: 'AKIA', signature: 'x', date: new Date(), nonce: 'n', bodyHash: '', expected: () => 'x' }
  await signers.authenticate(claim)
  expect(seen).toEqual([
    ['"keypairs"', undefined],
    ['rates', 'ada'],
    ['"keypair_nonces"', 'ada'],
  ])
})
