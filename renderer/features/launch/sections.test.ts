import { expect, test } from 'vitest'
import { defaultForm, type LaunchField } from './launch-form.ts'
import { faultySections, sectionInView, SECTIONS } from './sections.ts'

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

test('the section in view is the one that was reached, while its heading is visible, else that of the upper third', () => {
  const places = [
    { id: 'environment', top: -500 },
    { id: 'resources', top: 120 },
    { id: 'lifetime', top: 480 },
    { id: 'start', top: 540 },
  ] as const
  const at = (reached: 'environment' | 'start' | null) => sectionInView(places, { height: 600, reached })
  expect(at(null)).toBe('resources')
  expect(at('start')).toBe('start')
  expect(at('environment')).toBe('resources')
  expect(sectionInView([], { height: 600, reached: null })).toBeUndefined()
})
