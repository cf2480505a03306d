import { expect, test } from 'vitest'
import { type ApiClient, type GroupId, type UserId } from '#manager/contract'
import { collectProjectWeight, collectWeight, withWeights } from './weights.ts'

const ADA = '01900000-0000-7000-8000-00000000000a' as UserId
const BOB = '01900000-0000-7000-8000-00000000000b' as UserId
const SPEECH = '01900000-0000-7000-8000-00000000000c' as GroupId
const api = {
  listGroups: () => Promise.resolve({ items: [{ id: SPEECH, domain: 'lab', name: 'speech' }] }),
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
    { of: 'ada@example.org', factor: 2 },
    { of: 'bob@example.org', factor: 0.5 },
  ])
  // An address may contain the character that ends it.
  expect(collectWeight('a=b@example.org=3')).toEqual([{ of: 'a=b@example.org', factor: 3 }])
})

test.each(['ada@example.org', 'ada@example.org=', 'ada@example.org=0', 'ada@example.org=x', '=2', 'ada=1001'])(
  '"%s" is refused with an example',
  text => {
    expect(() => collectWeight(text)).toThrow('e.g. ada@example.org=2')
  },
)

test('other weights and options stay, and a factor of 1 removes an entry', async () => {
  const options = { splitShares: true, weights: { [BOB]: 3 } }
  const set = (users: string, before: object) => withWeights(api, before, { users: collectWeight(users), projects: [] })
  expect(await set('Ada@example.org=2', options)).toEqual({ splitShares: true, weights: { [BOB]: 3, [ADA]: 2 } })
  expect(await set(`${BOB}=1`, options)).toEqual({ splitShares: true })
  await expect(set('nobody@example.org=2', {})).rejects.toMatchObject({ code: 'user_not_found' })
})

test('projects have weights by name, beside those of users', async () => {
  const options = { weights: { [BOB]: 3 } }
  const set = (text: string, before: object) =>
    withWeights(api, before, { users: [], projects: collectProjectWeight(text) })
  const both = { weights: { [BOB]: 3 }, projectWeights: { [SPEECH]: 2 } }
  expect(await set('lab/Speech=2', options)).toEqual(both)
  expect(await set('speech=1', both)).toEqual(options)
  await expect(set('vision=2', {})).rejects.toMatchObject({ code: 'group_not_found' })
  expect(() => collectProjectWeight('speech')).toThrow('Write a project and a factor of at most 1000, e.g. speech=2.')
})
