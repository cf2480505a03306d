import { expect, test } from 'vitest'
import { createProgress } from './progress.ts'

function recording() {
  let clock = 0
  const lines: string[] = []
  const progress = createProgress({ write: text => lines.push(text), terminal: false, now: () => clock })
  return { progress, lines, pass: (ms: number) => (clock += ms) }
}

test('a step prints its result and its time, and a note at most every five seconds', async () => {
  const { progress, lines, pass } = recording()
  await progress.step('Image', note => {
    note('early')
    pass(6_000)
    note(' \u001b[33mStep  3/9\u001b[39m \n')
    pass(1_000)
    note('soon after')
    return Promise.resolve('built')
  })
  expect(lines).toEqual(['· Image: Step 3/9 (6.0 s)\n', '✓ Image: built (7.0 s)\n'])
})

test('a finished step prints one short line', async () => {
  const { progress, lines } = recording()
  await progress.step('Image', () => Promise.resolve('already there'))
  expect(lines).toEqual(['✓ Image: already there\n'])
})

test('a failed step prints the reason and rethrows the failure', async () => {
  const { progress, lines } = recording()
  await expect(progress.step('Image', () => Promise.reject(new Error('no network')))).rejects.toThrow('no network')
  expect(lines).toEqual(['✗ Image: no network (0.0 s)\n'])
})
