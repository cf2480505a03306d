import { expect, test } from 'vitest'
import { inOneForm, isSameText, otherForms } from './normal-forms.ts'

test.each(['보고서.txt', 'Résumé.pdf', 'Å'])(
  '%s in parts is the same text, and each is the other form of the other',
  name => {
    const [composed, parts] = [name.normalize('NFC'), name.normalize('NFD')]
    expect(isSameText(composed, parts)).toBe(true)
    expect(otherForms(composed)).toEqual([parts])
    expect(otherForms(parts)).toEqual([composed])
    expect(inOneForm(parts)).toBe(composed)
  },
)

test('plain text, and text that has one form, has no other; mixed text has both', () => {
  expect(otherForms('notes (1).txt')).toEqual([])
  expect(otherForms('数据 Ω')).toEqual([])
  expect(otherForms('é'.normalize('NFC') + 'é'.normalize('NFD'))).toHaveLength(2)
  expect(isSameText('a', 'A')).toBe(false)
})
