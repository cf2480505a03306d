import { expect, it } from 'vitest'
import { createKeyedMutex, createMutex } from './mutex.ts'

it('runs one work after the other, in the order of the calls', async () => {
  const run = createMutex()
  const first = Promise.withResolvers<string>()
  const seen: string[] = []
  const done = [run(async () => seen.push(await first.promise)), run(() => Promise.resolve(seen.push('second')))]
  await Promise.resolve()
  expect(seen).toEqual([])
  first.resolve('first')
  await Promise.all(done)
  expect(seen).toEqual(['first', 'second'])
})

it('goes on after a failure, which only its own caller gets', async () => {
  const run = createMutex()
  const failed = run(() => Promise.reject(new Error('no')))
  const next = run(() => Promise.resolve('next'))
  await expect(failed).rejects.toThrow('no')
  await expect(next).resolves.toBe('next')
})

it('keeps works of the same key apart, and lets other keys run beside them', async () => {
  const run = createKeyedMutex()
  const held = Promise.withResolvers<string>()
  const seen: string[] = []
  const first = run('a', async () => seen.push(await held.promise))
  const second = run('a', () => Promise.resolve(seen.push('a again')))
  await run('b', () => Promise.resolve(seen.push('b')))
  expect(seen).toEqual(['b'])
  expect(run.isBusy('a')).toBe(true)
  expect(run.isBusy('b')).toBe(false)
  held.resolve('a')
  await Promise.all([first, second])
  expect(seen).toEqual(['b', 'a', 'a again'])
})

it('goes on with a key after a failure', async () => {
  const run = createKeyedMutex()
  await expect(run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(run('a', () => Promise.resolve('next'))).resolves.toBe('next')
})
