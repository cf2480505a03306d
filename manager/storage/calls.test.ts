import { describe, expect, test } from 'vitest'
import { createStorageCalls } from './calls.ts'

/** A call that returns when the test says so, like one to a storage that does not answer. */
function hanging<T>() {
  const { promise, resolve } = Promise.withResolvers<T>()
  let started = 0
  return {
    call: () => {
      started++
      return promise
    },
    resolve,
    get started() {
      return started
    },
  }
}

describe('calls to a storage', () => {
  test('a hanging storage leaves threads for others, and other storages work', async () => {
    const of = createStorageCalls({ threads: 8, answerMs: 50 })
    const hung = hanging<undefined>()
    const refused = await Promise.allSettled(Array.from({ length: 20 }, () => of('hung').run(hung.call)))
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true)
    expect(refused[0]).toMatchObject({ reason: { code: 'storage_away' } })
    expect(hung.started).toBe(3)
    expect(await of('sound').run(() => Promise.resolve('answer'))).toBe('answer')
    expect(await Promise.allSettled([of('hung').run(hung.call)])).toMatchObject([{ status: 'rejected' }])
    hung.resolve(undefined)
    expect(await of('hung').run(() => Promise.resolve('again'))).toBe('again')
  })

  test('many hanging storages never occupy all threads', async () => {
    const of = createStorageCalls({ threads: 4, answerMs: 20 })
    const hung = hanging<undefined>()
    await Promise.allSettled(['a', 'b', 'c', 'd'].map(host => of(host).run(hung.call)))
    expect(hung.started).toBe(2)
    hung.resolve(undefined)
  })

  test('a file that is opened too late is returned to be closed', async () => {
    const of = createStorageCalls({ answerMs: 20 })
    const hung = hanging<string>()
    const closed: string[] = []
    const opening = of('hung').run(hung.call, { late: handle => closed.push(handle) })
    await expect(opening).rejects.toMatchObject({ code: 'storage_away' })
    hung.resolve('handle')
    await expect.poll(() => closed).toEqual(['handle'])
  })

  test('so is one that a job on a path opens too late', async () => {
    const of = createStorageCalls({ answerMs: 20 })
    const hung = hanging<string>()
    const closed: string[] = []
    const opening = of('one').path(hung.call, file => closed.push(file))
    await expect(opening).rejects.toMatchObject({ code: 'storage_away' })
    hung.resolve('file')
    await expect.poll(() => closed).toEqual(['file'])
    expect(
      await of('one').path(
        () => Promise.resolve('in time'),
        file => closed.push(file),
      ),
    ).toBe('in time')
    expect(closed).toEqual(['file'])
  })

  test('calls report their own errors, and free their threads', async () => {
    const of = createStorageCalls({ threads: 3, answerMs: 50 })
    const fail = () => of('one').run(() => Promise.reject(new Error('broken')))
    for (let count = 0; count < 5; count++) await expect(fail()).rejects.toThrow('broken')
    expect(await of('one').run(() => Promise.resolve(1))).toBe(1)
  })

  test('a user with many calls waiting does not make another one wait for all of them', async () => {
    const of = createStorageCalls({ threads: 3 })
    const order: string[] = []
    const run = (user: string, name: string) => of('one', user).run(() => Promise.resolve(order.push(name)))
    const flood = Array.from({ length: 6 }, (_, at) => run('ada', `a${at}`))
    await Promise.all([...flood, run('bob', 'b0'), run('bob', 'b1'), run('cleo', 'c0')])
    expect(order).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4', 'a5'])
  })

  test('a call that gives up waiting leaves its turn to the next one', async () => {
    const of = createStorageCalls({ threads: 3, answerMs: 1_000 })
    const hung = hanging<string>()
    const first = of('one', 'ada').run(hung.call)
    const given = of('one', 'bob').run(() => Promise.resolve('late'), { answerMs: 20 })
    await expect(given).rejects.toMatchObject({ code: 'storage_away' })
    const last = of('one', 'cleo').run(() => Promise.resolve('fine'))
    hung.resolve('now')
    expect(await Promise.all([first, last])).toEqual(['now', 'fine'])
  })

  test('calls run in the order of their requests', async () => {
    const of = createStorageCalls({ threads: 3 })
    const order: number[] = []
    const numbers = Array.from({ length: 10 }, (_, at) => at)
    await Promise.all(numbers.map(at => of('one').run(() => Promise.resolve(order.push(at)))))
    expect(order).toEqual(numbers)
  })
})
