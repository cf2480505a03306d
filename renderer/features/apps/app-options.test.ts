import { expect, test } from 'vitest'
import { type App } from '#manager/contract'
import { allowedOf, formOf, optionsOf, recallOptions, rememberOptions } from './app-options.ts'

const TENSORBOARD: App = { name: 'tensorboard', title: 'TensorBoard', protocol: 'http', path: '/' }
const ALLOWED = { arguments: ['--logdir', '--reload'], environment: ['KEY'], defaults: { '--logdir': '/logs' } }

function aStorage(): Storage {
  const kept = new Map<string, string>()
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  } as Storage
}

test('TensorBoard always asks for its log directory; other apps ask for what their image declares', () => {
  expect(allowedOf(TENSORBOARD)?.arguments).toEqual(['--logdir'])
  expect(allowedOf({ ...TENSORBOARD, name: 'web' })).toBeUndefined()
  expect(allowedOf({ ...TENSORBOARD, allowedOptions: ALLOWED })).toBe(ALLOWED)
})

test('the form has the defaults, and the last choice for the image, without values of variables', () => {
  const form = formOf(ALLOWED, undefined)
  expect(optionsOf(form)).toEqual({ arguments: { '--logdir': '/logs' }, environment: {} })
  form.arguments[0]!.used = false
  form.arguments[1]!.used = true
  form.environment[0]!.value = 'a secret'
  const chosen = optionsOf(form)
  expect(chosen).toEqual({ arguments: { '--reload': '' }, environment: { KEY: 'a secret' } })
  const storage = aStorage()
  rememberOptions('image:1', 'tensorboard', chosen, storage)
  expect(recallOptions('image:2', 'tensorboard', storage)).toBeUndefined()
  const again = formOf(ALLOWED, recallOptions('image:1', 'tensorboard', storage))
  expect(optionsOf(again)).toEqual({ arguments: { '--reload': '' }, environment: {} })
})

test('a stored choice of another form is ignored', () => {
  const storage = aStorage()
  storage.setItem('berth.app-options', JSON.stringify({ 'i a': { arguments: { x: 1 } }, 'i b': 7 }))
  expect([recallOptions('i', 'a', storage), recallOptions('i', 'b', storage)]).toEqual([undefined, undefined])
  storage.setItem('berth.app-options', 'no JSON')
  expect(recallOptions('i', 'a', storage)).toBeUndefined()
})
