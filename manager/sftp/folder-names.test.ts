import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FolderId, type UserId } from '#manager/contract'
import { nameFolders } from './folder-names.ts'
import { absolute, placeOf } from './place.ts'

const ME = 'me' as UserId

function aFolder(id: string, name: string, of: { user?: string; email?: string; project?: string } = {}) {
  return {
    id: id as FolderId,
    name,
    user_id: (of.user ?? (of.project === undefined ? ME : null)) as UserId | null,
    owner_email: of.email ?? null,
    group_name: of.project ?? null,
  }
}

test('own folders keep their names, and so do others unless another folder has the name', () => {
  const [mine, project, shared] = [
    aFolder('1', 'data'),
    aFolder('2', 'data', { project: 'vision' }),
    aFolder('3', 'models', { user: 'x', email: 'x@example.org' }),
  ]
  const names = nameFolders([mine, project, shared], ME)
  expect([...names.listed.keys()].toSorted()).toEqual(['data', 'data@vision', 'models'])
  expect(names.find('data')).toBe(mine)
  // The longer form names a folder, whether the list shows it or not.
  expect(names.find('models@x@example.org')).toBe(shared)
  expect(names.find('nothing')).toBeUndefined()
})

test('names are unique and have at most 255 bytes without slashes, whatever the names of projects and owners', () => {
  const label = fc.constantFrom('a', 'b', 'a/b', 'p'.repeat(254), '한'.repeat(80))
  const one = fc.record({ name: fc.constantFrom('data', 'models'), project: label })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 12 }), list => {
      const folders = list.map(({ name, project }, index) => aFolder(String(index), name, { project }))
      const { listed, find } = nameFolders(folders, ME)
      expect(new Set(listed.values()).size).toBe(folders.length)
      for (const [name, folder] of listed) {
        expect(name).not.toContain('/')
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
        expect(find(name)).toBe(folder)
      }
    }),
  )
})

test('no path leads above the top directory', () => {
  const part = fc.constantFrom('..', '.', '', 'data', 'a', 'ü')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), parts => {
      const path = Buffer.from(parts.join('/'))
      const place = placeOf(path)
      if (place.kind === 'inside') expect([place.folder, ...place.path.split('/')]).not.toContain('..')
      expect(placeOf(absolute(path))).toEqual(place)
    }),
  )
})

test('names that are not UTF-8 keep their bytes', () => {
  const path = Buffer.from([0x2f, 0x64, 0x2f, 0xff, 0xfe])
  expect(absolute(path)).toEqual(path)
})
