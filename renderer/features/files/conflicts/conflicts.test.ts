import { describe, expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { throughConflicts, type ConflictAnswer, type ConflictQuestion } from './conflicts.ts'

/** A destination that receives files in order and stops at the first existing name. */
function destination(...names: string[]) {
  const has = new Set(names)
  const done: string[] = []
  const run = (paths: readonly string[], onConflict: string): Promise<void> => {
    for (const path of paths) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      if (has.has(name) && onConflict === 'fail') return Promise.reject(new AppError('file_exists', { name }))
      done.push(`${onConflict} ${path}`)
    }
    return Promise.resolve()
  }
  return { done, run }
}
type Ask = (question: ConflictQuestion) => Promise<ConflictAnswer | null>
const answers = (...given: (ConflictAnswer | null)[]) => vi.fn<Ask>(() => Promise.resolve(given.shift() ?? null))

describe('conflicts of names', () => {
  test('conflicts are asked about one by one, and no file is sent twice', async () => {
    const { done, run } = destination('b', 'd')
    const ask = answers({ choice: 'replace', forAll: false }, { choice: 'skip', forAll: false })
    expect(await throughConflicts(['x/a', 'x/b', 'x/c', 'x/d', 'x/e'], run, ask)).toBe(true)
    expect(done).toEqual(['fail x/a', 'replace x/b', 'fail x/c', 'fail x/e'])
    expect(ask.mock.calls.map(([question]) => question)).toEqual([
      { name: 'b', more: 3 },
      { name: 'd', more: 1 },
    ])
  })

  test.each([
    ['skip', ['fail a', 'fail d']],
    ['rename', ['fail a', 'rename b', 'rename c', 'rename d']],
  ] as const)('an answer for all applies to the rest: %s', async (choice, expected) => {
    const { done, run } = destination('b', 'c')
    const ask = answers({ choice, forAll: true })
    expect(await throughConflicts(['a', 'b', 'c', 'd'], run, ask)).toBe(true)
    expect(done).toEqual(expected)
    expect(ask).toHaveBeenCalledTimes(1)
  })

  test('cancelling leaves the rest; other failures are thrown', async () => {
    const { done, run } = destination('b')
    expect(await throughConflicts(['a', 'b', 'c'], run, answers(null))).toBe(false)
    expect(done).toEqual(['fail a'])
    const away = () => Promise.reject(new AppError('storage_away'))
    await expect(throughConflicts(['a'], away, answers())).rejects.toMatchObject({ code: 'storage_away' })
  })

  test('files before a conflict that was found before anything was done are sent after the answer', async () => {
    const { done, run } = destination('b')
    const checked = (paths: readonly string[], onConflict: string) =>
      paths.includes('x/b') && onConflict === 'fail'
        ? Promise.reject(new AppError('file_exists', { name: 'b', done: 0 }))
        : run(paths, onConflict)
    const ask = answers({ choice: 'rename', forAll: false })
    expect(await throughConflicts(['x/a', 'x/b', 'x/c'], checked, ask)).toBe(true)
    expect(done).toEqual(['rename x/b', 'fail x/a', 'fail x/c'])
  })

  test('more files than a request may have become several requests', async () => {
    const sizes: number[] = []
    const run = (paths: readonly string[]) => Promise.resolve(void sizes.push(paths.length))
    await throughConflicts(
      Array.from({ length: 2_500 }, (_, index) => String(index)),
      run,
      answers(),
    )
    expect(sizes).toEqual([1_000, 1_000, 500])
  })
})
