import { describe, expect, test } from 'vitest'
import { createStorageCalls } from './calls.ts'

/** A call that returns when told to, like one to a storage that does not answer. */
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

  test('calls report their own errors, and free their threads', async () => {
    const of = createStorageCalls({ threads: 3, answerMs: 50 })
    const fail = () => of('one').run(() => Promise.reject(new Error('broken')))
    for (let count = 0; count < 5; count++) await expect(fail()).rejects.toThrow('broken')
    expect(await of('one').run(() => Promise.resolve(1))).toBe(1)
  })

  test('calls run in the order of their requests', async () => {
    const of = createStorageCalls({ threads: 3 })
    const order: number[] = []
    const numbers = Array.from({ length: 10 }, (_, at) => at)
    await Promise.all(numbers.map(at => of('one').run(() => Promise.resolve(order.push(at)))))
    expect(order).toEqual(numbers)
  })
})
