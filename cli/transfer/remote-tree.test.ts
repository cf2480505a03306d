import { expect, test } from 'vitest'
import { type ApiClient, type FolderId } from '#manager/contract'
import { walkRemote } from './remote-tree.ts'

test.each([
  ['a tree without an end', 'a', 2_040],
  ['a directory without a name', '', 0],
])('%s of a hostile server is given up', async (_, name, level) => {
  const asked: string[] = []
  const listFiles = ({ query }: { query: { path: string } }) => {
    asked.push(query.path)
    const entry = { name, kind: 'directory', size: 0, modifiedAt: '2026-01-01T00:00:00Z', etag: '"1"' }
    return Promise.resolve({ items: [entry], next: null })
  }
  const { signal } = new AbortController()
  const tree = { api: { listFiles } as unknown as ApiClient, folderId: 'x' as FolderId, signal }
  const walk = async () => {
    for await (const { parts } of walkRemote(tree, '', Array<string>(level).fill('a')))
      if (parts.length > level + 20) throw new Error('no limit')
  }
  await expect(walk()).rejects.toMatchObject({ code: 'unavailable' })
  expect(asked.length).toBeLessThan(20)
})
