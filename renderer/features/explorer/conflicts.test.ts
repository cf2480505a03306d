import { describe, expect, test, vi } from 'vitest'
import { decideConflicts, groupsOf, type ConflictAnswer, type ConflictQuestion } from './conflicts.ts'

describe('conflicts of names', () => {
  test('are asked one by one until an answer holds for all', async () => {
    const ask = vi.fn<(question: ConflictQuestion) => Promise<ConflictAnswer>>(({ name }) =>
      Promise.resolve({ choice: name === 'a' ? 'replace' : 'skip', forAll: name === 'b' }),
    )
    const choices = await decideConflicts(['a', 'b', 'c', 'd'], ask)
    expect([...(choices ?? [])]).toEqual([
      ['a', 'replace'],
      ['b', 'skip'],
      ['c', 'skip'],
      ['d', 'skip'],
    ])
    expect(ask.mock.calls.map(([question]) => question)).toEqual([
      { name: 'a', more: 3 },
      { name: 'b', more: 2 },
    ])
  })

  test('cancelling one question cancels all', async () => {
    expect(await decideConflicts(['a', 'b'], () => Promise.resolve(null))).toBeNull()
  })

  test('become one request for each choice', () => {
    const choices = new Map([
      ['a', 'replace'],
      ['b', 'skip'],
      ['c', 'rename'],
    ] as const)
    expect(groupsOf(['a', 'b', 'c', 'd'], name => choices.get(name as 'a'))).toEqual([
      { onConflict: 'fail', items: ['d'] },
      { onConflict: 'replace', items: ['a'] },
      { onConflict: 'rename', items: ['c'] },
    ])
  })
})
