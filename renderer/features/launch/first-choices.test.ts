import { expect, test } from 'vitest'
import { aSession } from '../../testing/a-session.ts'
import { anImage } from '../../testing/an-image.ts'
import { firstChoices } from './first-choices.ts'
import { defaultForm, GIB } from './launch-form.ts'

const most = { cpu: 8000, mem: 16 * GIB }
const python = anImage()
const lab = anImage({ reference: 'berth/lab:4', sizeBytes: 2, aliases: ['lab:latest'] })
const form = { ...defaultForm(undefined, {}), project: 'p', resourceGroup: 'gpus', opens: 'jupyter' }
const last = { image: lab.reference, cpu: 3000, mem: 2 * GIB, shmem: GIB, gpu: 0, count: 4, resourceGroup: 'old' }

test('the form begins as the last launch was, in the place that is chosen, for one session', () => {
  const { wish, start } = firstChoices([python, lab], { like: null, last, form, most })
  expect(start).toBe(lab)
  expect(wish).toMatchObject({ ...last, count: 1, project: 'p', resourceGroup: 'gpus', opens: 'jupyter' })
})

test('where the image of the last launch is gone, the most used one comes with its own amounts', () => {
  const { wish, start } = firstChoices([python], { like: null, last, form, most })
  expect(start).toBe(python)
  expect(wish).toMatchObject({ image: python.reference, cpu: defaultForm(python, most).cpu, mem: 4 * GIB })
})

test('a session to repeat comes before the last launch, and keeps its name', () => {
  const like = aSession(1, { name: 'train', image: 'lab:latest', requested: { cpu: '5', mem: '8g' } })
  const { wish, start } = firstChoices([python, lab], { like, last, form, most })
  expect(start).toBe(lab)
  expect(wish).toMatchObject({ image: lab.reference, name: 'train', cpu: 5000, mem: 8 * GIB, resourceGroup: 'gpus' })
})

test('without an image the form has none', () => {
  const { wish, start } = firstChoices([], { like: null, last: null, form, most })
  expect(start).toBeUndefined()
  expect(wish.image).toBe('')
})
