import { expect, test } from 'vitest'
import { createSemaphore } from './semaphore.ts'

/** Takes permits that note when they were given, in `given`. */
function setUp(count: number) {
  const semaphore = createSemaphore(count)
  const given: string[] = []
  const held: (() => void)[] = []
  const take = (user: string, name: string, most?: number, signal?: AbortSignal) =>
    semaphore.take(user, { ...(most === undefined ? {} : { most }), signal }).then(leave => {
      given.push(name)
      held.push(leave)
    })
  const settle = () => new Promise(resolve => setImmediate(resolve))
  const release = async () => {
    held.shift()?.()
    await settle()
  }
  return { semaphore, given, held, take, release, settle }
}

test('users who wait come one after another, each with their requests in order', async () => {
  const { given, take, release, settle } = setUp(1)
  for (const name of ['a1', 'a2', 'a3']) void take('ada', name)
  void take('bob', 'b1')
  await settle()
  for (let n = 0; n < 3; n++) await release()
  expect(given).toEqual(['a1', 'a2', 'b1', 'a3'])
})

test('what a user asks for beyond a number waits behind their own, and leaves permits to others', async () => {
  const { given, take, release, settle } = setUp(4)
  for (const name of ['a1', 'a2', 'a3', 'a4']) void take('ada', name, 2)
  void take('bob', 'b1', 2)
  await settle()
  expect(given).toEqual(['a1', 'a2', 'b1'])
  // A request with a larger number, such as one that another permit of its user waits for, does not wait behind.
  await take('ada', 'inner', 3)
  void take('bob', 'b2', 2)
  await settle()
  expect(given).toEqual(['a1', 'a2', 'b1', 'inner'])
  await release()
  // The released permit goes to the one who waits, before the next request of the same user.
  expect(given.at(-1)).toBe('b2')
  await release()
  expect(given.slice(5)).toEqual(['a3'])
  await release()
  await release()
  expect(given.slice(5)).toEqual(['a3', 'a4'])
})

test('a permit that was given beyond the number makes no room for others when it is given back', async () => {
  const { given, held, take, settle } = setUp(10)
  for (const name of ['a1', 'a2', 'a3', 'a4']) void take('ada', name, 2)
  for (let n = 0; n < 3; n++) {
    await take('ada', 'inner', 3)
    held.pop()?.()
    await settle()
  }
  expect(given).toEqual(['a1', 'a2', 'inner', 'inner', 'inner'])
})

test('a wait ends with its signal, wherever the request waits; no permit is lost', async () => {
  const { semaphore, given, held, take, release, settle } = setUp(1)
  const end = new AbortController()
  void take('ada', 'a1')
  const queued = take('ada', 'a2', 2, end.signal)
  const behind = take('ada', 'a3', 2, end.signal)
  void take('ada', 'a4', 2)
  await settle()
  end.abort(new Error('too late'))
  await expect(queued).rejects.toThrow('too late')
  await expect(behind).rejects.toThrow('too late')
  await expect(take('ada', 'a5', 2, end.signal)).rejects.toThrow('too late')
  expect(semaphore.takeFree('bob')).toBeUndefined()
  await release()
  expect(given).toEqual(['a1', 'a4'])
  const [leave] = held
  leave?.()
  leave?.()
  expect([semaphore.takeFree('bob'), semaphore.takeFree('bob')]).toEqual([expect.any(Function), undefined])
})
