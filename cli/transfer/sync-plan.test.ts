import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { compareEntries, isSameTime, type SyncNode } from './sync-plan.ts'

const file = (size: number, modifiedMs = 1_000_500): SyncNode => ({ kind: 'file', size, modifiedMs })
const directory: SyncNode = { kind: 'directory', size: 0, modifiedMs: 0 }
const link: SyncNode = { kind: 'other', size: 3, modifiedMs: 0 }
const steps = (
  source: Record<string, SyncNode>,
  target: Record<string, SyncNode>,
  rules: { checksum?: boolean; delete?: boolean } = {},
) =>
  Object.fromEntries(
    [
      ...compareEntries(new Map(Object.entries(source)), new Map(Object.entries(target)), {
        checksum: false,
        delete: false,
        ...rules,
      }),
    ].map(([name, { step, there }]) => [name, there === name ? step : `${step} ${there}`]),
  )

test('a sync sends new files, and those with another size or time', () => {
  const target = { same: file(1), size: file(2), time: file(1, 5_000_500), link }
  expect(steps({ same: file(1), size: file(1), time: file(1), link: file(1), new: file(1) }, target)).toEqual({
    same: 'same',
    size: 'send',
    time: 'send',
    link: 'send',
    new: 'send',
  })
})

test('on request a sync compares the bytes of files of equal size, whatever their times', () => {
  const target = { same: file(1), time: file(1, 5), size: file(2) }
  expect(steps({ same: file(1), time: file(1), size: file(1) }, target, { checksum: true })).toEqual({
    same: 'compare',
    time: 'compare',
    size: 'send',
  })
})

test('a file of which only the right to run it differs gets that right, unless one side has none', () => {
  const runs = (executable?: boolean): SyncNode => ({ ...file(1), ...defined({ executable }) })
  const source = { on: runs(true), off: runs(false), same: runs(true), windows: runs() }
  const target = { on: runs(false), off: runs(true), same: runs(true), windows: runs(true) }
  expect(steps(source, target)).toEqual({ on: 'mode', off: 'mode', same: 'same', windows: 'same' })
})

test('a sync makes directories, and replaces a directory by a file only if allowed', () => {
  expect(
    steps(
      { new: directory, both: directory, blocked: directory, hidden: file(1) },
      {
        both: directory,
        blocked: file(1),
        hidden: directory,
      },
    ),
  ).toEqual({ new: 'make', both: 'enter', blocked: 'in the way', hidden: 'in the way' })
})

test('a sync deletes only on request, and never an entry with the name of one that was left out', () => {
  const source = { link }
  const target = { link: file(1), extra: file(1), more: directory }
  expect(steps(source, target)).toEqual({ link: 'skip' })
  expect(steps(source, target, { delete: true })).toEqual({ link: 'skip', extra: 'delete', more: 'delete' })
})

test('a name in another Unicode form is the same name, and is not deleted; twins do not replace each other', () => {
  const [composed, parts] = ['é'.normalize('NFC'), 'é'.normalize('NFD')]
  const all = { delete: true }
  expect(steps({ [parts]: file(1) }, { [composed]: file(1) }, all)).toEqual({ [parts]: `same ${composed}` })
  expect(steps({ [parts]: file(2) }, { [composed]: file(1) }, all)).toEqual({ [parts]: `send ${composed}` })
  const both = { [parts]: file(1), [composed]: file(2) }
  expect(steps(both, {}, all)).toEqual({ [parts]: 'send', [composed]: 'skip' })
  expect(steps(both, both, all)).toEqual({ [parts]: 'same', [composed]: 'same' })
  expect(steps({ [parts]: file(1) }, both, all)).toEqual({ [parts]: 'same', [composed]: 'delete' })
})

test('times are equal within their rounding, and within a second if one side keeps whole seconds', () => {
  expect(isSameTime(1_000_123, 1_000_122)).toBe(true)
  expect(isSameTime(1_000_123, 1_000_000)).toBe(true)
  expect(isSameTime(1_000_999, 1_001_000)).toBe(true)
  expect(isSameTime(1_000_123, 1_000_500)).toBe(false)
  expect(isSameTime(1_002_123, 1_000_000)).toBe(false)
})
