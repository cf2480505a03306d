import { expect, test } from 'vitest'
import { because } from '#manager/contract'
import { type PartlyIsolated, tellIsolation } from './isolation.ts'

function notesOf(partly: PartlyIsolated, ticket: boolean): string[] {
  const notes: string[] = []
  tellIsolation(partly, { ticket, output: { note: text => notes.push(text) } })
  return notes
}

test('partial isolation is told with what sessions reach, the reason, and what to do', () => {
  const [text = '', ...others] = notesOf(because('iptables_not_installed'), false)
  expect(others).toEqual([])
  expect(text).toContain('Sessions can reach this computer and its network. iptables is not installed on the host.')
  expect(text).toContain('run only code that you trust')
})

test('full isolation is not worth a line', () => {
  expect(notesOf(null, false)).toEqual([])
})

test('the desktop app gets either of them, with keys for translations', () => {
  const partly = because('iptables_says', { text: 'locked' })
  expect(notesOf(partly, true).map(line => JSON.parse(line) as unknown)).toEqual([{ partlyIsolated: partly }])
  expect(notesOf(null, true).map(line => JSON.parse(line) as unknown)).toEqual([{ partlyIsolated: null }])
})
