import { expect, test } from 'vitest'
import { defaultForm, type LaunchField } from './launch-form.ts'
import { faultySections, SECTIONS } from './sections.ts'

test('each field of the form is in one section', () => {
  const fields = SECTIONS.flatMap((section): readonly LaunchField[] => section.fields)
  expect(fields.toSorted()).toEqual(Object.keys(defaultForm(undefined, {})).toSorted())
})

test('a section has a fault if one of its fields has one', () => {
  expect([...faultySections({ gpu: 'At most 1', shmem: '', environ: 'A: appears twice' })]).toEqual([
    'resources',
    'variables',
  ])
})
