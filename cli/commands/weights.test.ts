import { expect, test } from 'vitest'
import { type ApiClient, type UserId } from '#manager/contract'
import { collectWeight, withWeights } from './weights.ts'

const ADA = '01900000-0000-7000-8000-00000000000a' as UserId
const BOB = '01900000-0000-7000-8000-00000000000b' as UserId
const api = {
  listUsers: () =>
    Promise.resolve({
      items: [
        { id: ADA, email: 'ada@example.org' },
        { id: BOB, email: 'bob@example.org' },
      ],
      nextCursor: null,
    }),
} as unknown as ApiClient

test('weights are typed by address, one option each', () => {
  const first = collectWeight('ada@example.org=2')
  expect(collectWeight('bob@example.org=0.5', first)).toEqual([
    { user: 'ada@example.org', factor: 2 },
    { user: 'bob@example.org', factor: 0.5 },
  ])
  // An address may have the character that ends it.
  expect(collectWeight('a=b@example.org=3')).toEqual([{ user: 'a=b@example.org', factor: 3 }])
})

test.each(['ada@example.org', 'ada@example.org=', 'ada@example.org=0', 'ada@example.org=x', '=2', 'ada=1001'])(
  '"%s" is refused with an example',
  text => {
    expect(() => collectWeight(text)).toThrow('e.g. ada@example.org=2')
  },
)

test('other weights and options stay, and a factor of 1 removes an entry', async () => {
  const options = { splitShares: true, weights: { [BOB]: 3 } }
  const typed = collectWeight('Ada@example.org=2')
  expect(await withWeights(api, options, typed)).toEqual({ splitShares: true, weights: { [BOB]: 3, [ADA]: 2 } })
  expect(await withWeights(api, options, collectWeight(`${BOB}=1`))).toEqual({ splitShares: true })
  await expect(withWeights(api, {}, collectWeight('nobody@example.org=2'))).rejects.toMatchObject({
    code: 'user_not_found',
  })
})
