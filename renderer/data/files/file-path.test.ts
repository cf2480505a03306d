import { describe, expect, test } from 'vitest'
import {
  ancestorsOf,
  freeName,
  isWithin,
  joinPath,
  nameFault,
  nameOf,
  parentOf,
  sessionPath,
  stemLength,
} from './file-path.ts'

describe('paths of files', () => {
  test('paths are joined and split at the top of a folder and below it', () => {
    expect(joinPath('', 'a')).toBe('a')
    expect(joinPath('a/b', 'c')).toBe('a/b/c')
    expect([parentOf('a'), parentOf('a/b/c')]).toEqual(['', 'a/b'])
    expect([nameOf('a'), nameOf('a/b.txt')]).toEqual(['a', 'b.txt'])
    expect(ancestorsOf('')).toEqual([])
    expect(ancestorsOf('a/b')).toEqual([
      { name: 'a', path: 'a' },
      { name: 'b', path: 'a/b' },
    ])
  })

  test('a directory is not inside one whose name is only a prefix', () => {
    expect([isWithin('data', 'data'), isWithin('data/x', 'data'), isWithin('data2', 'data')]).toEqual([
      true,
      true,
      false,
    ])
    expect(isWithin('anything', '')).toBe(true)
  })

  test('the path in a session is below the home', () => {
    expect(sessionPath('results', '')).toBe('/home/work/results')
    expect(sessionPath('results', 'run 1/a.csv')).toBe('/home/work/results/run 1/a.csv')
  })
})

describe('names', () => {
  test.each([
    ['', 'empty'],
    ['.', 'dots'],
    ['..', 'dots'],
    ['a/b', 'slash'],
    ['a\nb', 'control'],
    ['ü'.repeat(128), 'long'],
    ['ü'.repeat(127), undefined],
    ['…', undefined],
    ['.hidden', undefined],
  ])('%j has the fault %s', (name, fault) => {
    expect(nameFault(name)).toBe(fault)
  })

  test('a rename selects the part before the extension', () => {
    expect(stemLength('notes.txt', false)).toBe(5)
    expect(stemLength('data.tar.gz', false)).toBe(4)
    expect(stemLength('.bashrc', false)).toBe(7)
    expect(stemLength('v1.2', true)).toBe(4)
  })

  test('a free name keeps the extension', () => {
    expect(freeName('a.txt', new Set())).toBe('a.txt')
    expect(freeName('a.txt', new Set(['a.txt', 'a (2).txt']))).toBe('a (3).txt')
  })
})
