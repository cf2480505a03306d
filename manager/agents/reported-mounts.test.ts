import { expect, test } from 'vitest'
import { type KernelFolder, type KernelMounts, type KernelReport } from '#agent/contract'
import { type FolderId, type KernelId } from '#manager/contract'
import { noteMounted, noteMounts, noteUnmounted } from './reported-mounts.ts'

const kernelId = '01990000-0000-7000-8000-000000000001' as KernelId
const folder: KernelFolder = {
  storage: '6f1c',
  folder: '01990000-0000-7000-8000-00000000000f' as FolderId,
  path: 'data',
  readOnly: false,
}
const saying = (...folders: KernelFolder[]) => [{ kernelId, mounts: { closed: null, folders } }] as KernelReport[]
const memory = () => ({ mounts: new Map<KernelId, KernelMounts>() as ReadonlyMap<KernelId, KernelMounts> })

test('a mount that a reply told of is changed by a report without it, and by none with it', () => {
  const one = memory()
  noteMounts(one, saying(), true)
  noteMounted(one, kernelId, folder)
  // A repetition.
  noteMounted(one, kernelId, folder)
  expect(noteMounts(one, saying(folder), true).kernelIds).toEqual([])
  expect(noteMounts(one, saying(), true).kernelIds).toEqual([kernelId])
  noteMounted(one, kernelId, folder)
  noteUnmounted(one, kernelId, folder.folder)
  expect(noteMounts(one, saying(), true).kernelIds).toEqual([])
  expect(noteMounts(one, saying(folder), true)).toEqual({ kernelIds: [kernelId], withFolders: [kernelId], turned: [] })
})

test('a kernel of which the agent has said nothing stays unknown', () => {
  const one = memory()
  noteMounted(one, kernelId, folder)
  expect(one.mounts.size).toBe(0)
})
