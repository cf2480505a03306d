import { expect, test, vi } from 'vitest'
import { type UserId } from '#manager/contract'
import { createLargeAnswers, isLongList } from './large-answers.ts'

const EVE = 'eve' as UserId
const BOB = 'bob' as UserId
const MIB = 1024 * 1024

test('four lists of a person are made at a time, the others in their order; other people and other calls do not wait', async () => {
  const answers = createLargeAnswers()
  const begun: number[] = []
  const ends: (() => void)[] = []
  for (let index = 0; index < 7; index++) {
    void answers.begin(EVE, 'listSessions').then(end => {
      begun.push(index)
      ends.push(end)
    })
  }
  await vi.waitFor(() => expect(begun).toEqual([0, 1, 2, 3]))
  await answers.begin(BOB, 'listSessions')
  await answers.begin(EVE, 'getSession')
  ends[0]?.()
  await vi.waitFor(() => expect(begun).toEqual([0, 1, 2, 3, 4]))
  for (const end of ends.slice(1)) end()
  await vi.waitFor(() => expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]))
})

test('with more than 32 MiB unread a person gets no further list until something is read, also one that has waited', async () => {
  const answers = createLargeAnswers()
  const ends = await Promise.all(Array.from({ length: 4 }, () => answers.begin(EVE, 'listSessions')))
  const waiting = answers.begin(EVE, 'listSessions')
  const read = [answers.hold(EVE, 20 * MIB), answers.hold(EVE, 20 * MIB)]
  const refused = { code: 'rate_limited', detail: { cause: 'answers_unread', retryAfterSeconds: 2 } }
  for (const end of ends) end()
  await expect(waiting).rejects.toMatchObject(refused)
  await expect(answers.begin(EVE, 'listSessions')).rejects.toMatchObject(refused)
  ;(await answers.begin(BOB, 'listSessions'))()
  read[0]?.()
  ;(await answers.begin(EVE, 'listSessions'))()
})

test('long lists of the database are made one after the other for a person, lists of files are not', () => {
  expect(isLongList('listSessions', { limit: 500 })).toBe(true)
  expect(isLongList('listSessions', { limit: 100 })).toBe(false)
  expect(isLongList('listImages', {})).toBe(false)
  // A hundred requests of 80 KiB each.
  expect(isLongList('listSessionTemplates', {})).toBe(true)
  expect(isLongList('listFiles', { limit: 200 })).toBe(false)
})

test('a long list of a person begins when the one before has ended; short ones and other people do not wait', async () => {
  const answers = createLargeAnswers()
  const begun: string[] = []
  const begin = (who: UserId, limit: number) =>
    answers.begin(who, 'listUsers', { limit }).then(end => {
      begun.push(`${who} ${limit}`)
      return end
    })
  const first = await begin(EVE, 500)
  const second = begin(EVE, 400)
  await begin(EVE, 100)
  await begin(BOB, 500)
  expect(begun).toEqual(['eve 500', 'eve 100', 'bob 500'])
  first()
  ;(await second)()
  expect(begun.at(-1)).toBe('eve 400')
})
