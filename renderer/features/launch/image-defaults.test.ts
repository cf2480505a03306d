import { expect, test } from 'vitest'
import { applied, defaultsFor, defaultsOf, withDefaults, withoutDefaults } from './image-defaults.ts'
import { defaultForm, GIB, limitsOf, toSpec } from './launch-form.ts'

const CHANGED_AT = '2026-11-02T09:00:00.000Z'
const MODELS = '01990000-0000-7000-8000-000000000002'
const form = { ...defaultForm(undefined, {}), image: 'berth/python:3.13', cpu: 2000, mem: 4 * GIB, shmem: GIB }

test('the settings of a form become defaults, which fill in another form', () => {
  const chosen = {
    ...form,
    cpu: 3000,
    environ: [{ name: 'A', value: '1' }],
    folders: [{ folder: MODELS as never, name: 'models', path: 'm', readOnly: true }],
  }
  const stored = { ...defaultsOf(toSpec(chosen, limitsOf(undefined, {}, chosen.mem))), changedAt: CHANGED_AT }
  const { cpu, mem, shmem, environ, folders } = chosen
  expect(withDefaults({ ...form, name: 'kept' }, stored, new Map([[MODELS, { name: 'models' }]]))).toEqual({
    ...form,
    ...{ name: 'kept', cpu, mem, shmem, environ, folders },
  })
})

test('amounts and folders that defaults do not name stay as they are', () => {
  const before = { ...form, gpu: 2, folders: [{ folder: MODELS as never, name: 'models', path: '', readOnly: false }] }
  const defaults = { image: form.image, resources: { cpu: '1' }, environ: {}, changedAt: CHANGED_AT }
  expect(withDefaults(before, defaults, new Map())).toEqual({ ...before, cpu: 1000 })
})

test('defaults leave the form with their image, except for values that were edited since', () => {
  const after = { ...form, cpu: 3000, mem: 8 * GIB, environ: [{ name: 'A', value: '1' }] }
  expect(withoutDefaults({ ...after, mem: 6 * GIB }, applied(form, after))).toEqual({ ...form, mem: 6 * GIB })
})

test('defaults are found by the name of the image, or else by an alias', () => {
  const defaults = (image: string) => ({ image, resources: {}, environ: {}, changedAt: CHANGED_AT })
  const image = { reference: 'berth/python:3.13', aliases: ['python'] }
  const all = [defaults('python'), defaults('berth/r:4')]
  expect(defaultsFor(image, all)?.image).toBe('python')
  expect(defaultsFor(image, [...all, defaults('berth/python:3.13')])?.image).toBe('berth/python:3.13')
  expect(defaultsFor({ reference: 'berth/none:1', aliases: [] }, all)).toBeUndefined()
})
