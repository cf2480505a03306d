import { expect, test } from 'vitest'
import { fromDrop, fromInput } from './file-source.ts'

type Tree = { [name: string]: Tree | string }

/** Entries as in Chromium: at most two children at a time. */
function entryOf(tree: Tree | string, fullPath: string): unknown {
  if (typeof tree === 'string')
    return {
      isFile: true,
      isDirectory: false,
      fullPath,
      file: (give: (file: File) => void) => give(new File([tree], 'f')),
    }
  const children = Object.entries(tree).map(([name, child]) => entryOf(child, `${fullPath}/${name}`))
  return {
    isFile: false,
    isDirectory: true,
    fullPath,
    createReader: () => ({ readEntries: (give: (some: unknown[]) => void) => give(children.splice(0, 2)) }),
  }
}
const itemsOf = (tree: Tree) =>
  Object.entries(tree).map(([name, child]) => ({ webkitGetAsEntry: () => entryOf(child, `/${name}`) })) as never

test('a dropped directory becomes files with paths, and empty directories', async () => {
  const { files, emptyDirectories } = await fromDrop(
    itemsOf({ data: { a: '1', b: '2', c: '3', deep: { er: { d: '4' } }, none: {} }, 'x.txt': '5' }),
  )
  expect(files.map(({ path }) => path)).toEqual(['data/a', 'data/b', 'data/c', 'data/deep/er/d', 'x.txt'])
  expect(emptyDirectories).toEqual(['data/none'])
  expect(await (await files[3]?.open())?.text()).toBe('4')
})

test('files of a chosen directory keep their paths', () => {
  const plain = new File(['1'], 'a.txt')
  const below = Object.defineProperty(new File(['1'], 'b.txt'), 'webkitRelativePath', { value: 'data/b.txt' })
  expect(fromInput([plain, below]).map(({ path }) => path)).toEqual(['a.txt', 'data/b.txt'])
})
