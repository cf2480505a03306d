import { describe, expect, test } from 'vitest'
import { FolderMountSpecs } from '#manager/contract'
import { aFolder } from '../../testing/a-folder.ts'
import { aSession, OWNER } from '../../testing/a-session.ts'
import { choiceFault, choiceOf, choicesFault, choicesLike, toMountSpecs, type FolderChoice } from './folder-choice.ts'
import { defaultForm, formLike, limitsOf, toSpec } from './launch-form.ts'
import { recall, remember } from './remembered.ts'

const DATA = aFolder(1, { name: 'data' })
const MODELS = aFolder(2, { name: 'models', permission: 'ro' })
const at = (path: string, folder = DATA): FolderChoice => ({ ...choiceOf(folder), path })
const known = new Set<string>([DATA.id, MODELS.id])

describe('a folder to mount', () => {
  test.each([
    ['', ''],
    ['sets/2026', ''],
    ['/home/work/sets/', ''],
    ['/data', 'Must be a path below /home/work'],
    ['../data', 'Must be a path below /home/work'],
    ['a//b', 'Must be a path below /home/work'],
    ['.bashrc', 'Sessions use this path themselves; choose another'],
    ['id_container', 'Sessions use this path themselves; choose another'],
  ])('a folder at %j: %s', (path, fault) => {
    expect(choiceFault(at(path), [at(path)], known)).toBe(fault)
    // The manager decides the same.
    expect(FolderMountSpecs.safeParse(toMountSpecs([at(path)])).success).toBe(fault === '')
  })

  test('a folder may be neither at nor inside the path of another one', () => {
    const fault = (a: string, b: string) => choicesFault([at(a), at(b, MODELS)], known)
    expect(fault('', '')).toBe('')
    expect(fault('models', '')).toContain('“models”')
    expect(fault('', 'data/models')).not.toBe('')
    expect(fault('data-2', 'data')).toBe('')
  })

  test('a folder that is gone is an error once the folders are known', () => {
    const gone = choiceOf(aFolder(3))
    expect(choicesFault([gone], null)).toBe('')
    expect(choicesFault([gone], known)).toContain('is gone')
  })

  test('a folder is sent by its id, with path and read-only only if they differ from the default', () => {
    expect(toMountSpecs([at(''), at(' sets ', MODELS)])).toEqual([
      { folder: DATA.id },
      { folder: MODELS.id, path: 'sets', readOnly: true },
    ])
  })
})

test('a copy of a session mounts the same folders at the same paths', () => {
  const session = aSession(1, {
    folders: [
      { folderId: DATA.id, name: 'data', path: '/home/work/data', readOnly: false },
      { folderId: MODELS.id, name: 'models', path: '/home/work/in/models', readOnly: true },
    ],
  })
  expect(choicesLike(session)).toEqual([at(''), at('in/models', MODELS)])
  const form = formLike(session)
  expect(toSpec(form, limitsOf(undefined, {}, form.mem)).folders).toEqual([
    { folder: DATA.id },
    { folder: MODELS.id, path: 'in/models', readOnly: true },
  ])
  // A dot-folder that the session did not mount is not mounted automatically either.
  expect(toSpec(form, limitsOf(undefined, {}, form.mem)).automount).toBe(false)
})

test('a copy of a session that an administrator launched has none of the folders of their choice', () => {
  const mount = { folderId: MODELS.id, name: 'models', path: '/home/work/.ipython', readOnly: true }
  const session = aSession(1, { folders: [mount], launchedBy: 'admin@localhost' })
  expect(formLike(session).folders).toEqual([])
  // The session itself keeps its folders at their paths.
  expect(choicesLike(session)).toMatchObject([{ path: '.ipython' }])
})

test('the folders of the last launch are remembered; a damaged record is dropped whole', () => {
  const items = new Map<string, string>()
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  } as Storage
  remember(OWNER, { ...defaultForm(undefined, {}), folders: [at('sets')] }, storage)
  expect(recall(OWNER, storage)?.folders).toEqual([at('sets')])
  for (const [key, text] of items) items.set(key, text.replace('"readOnly":false', '"readOnly":1'))
  expect(recall(OWNER, storage)).toBeNull()
})
