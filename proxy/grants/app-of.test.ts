import { expect, test } from 'vitest'
import { type Grant } from '#manager/contract'
import { appOf } from './app-of.ts'

const grantOf = (app: unknown) => ({ app }) as Grant
const described = { name: 'lab', title: 'Lab', protocol: 'http', path: '/lab' }

test('an app has the name that was asked for', () => {
  expect(appOf(grantOf({ ...described, name: 'x.localhost:8888/?' }), 'lab')).toEqual(described)
})

test.each([
  ['a name that leads elsewhere', described, 'x.localhost:8888/?'],
  ['a name of more than one label', described, 'a.b'],
  ['a protocol that does not exist', { ...described, protocol: 'file' }, 'lab'],
  ['a title that is no text', { ...described, title: [] }, 'lab'],
  ['no app at all', null, 'lab'],
])('%s is refused', (_, app, name) => {
  expect(() => appOf(grantOf(app), name)).toThrow('it describes no app')
})
