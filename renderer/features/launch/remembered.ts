import { parseJson } from '#manager/contract'
import { type FolderChoice } from './folder-choice.ts'
import { type LaunchForm } from './launch-form.ts'

/**
 * The choices of the last launch, stored on this computer. The name is left out (it is taken now), and so are the values of
 * environment variables: they often hold passwords and keys, which do not belong in browser storage.
 */
export type Remembered = Pick<LaunchForm, 'image' | 'cpu' | 'mem' | 'shmem' | 'gpu'> &
  Partial<Pick<LaunchForm, 'project' | 'resourceGroup' | 'folders' | 'opens'>>

const KEY = 'berth.launch'
const NUMBERS = ['cpu', 'mem', 'shmem', 'gpu'] as const
const TEXTS = ['project', 'resourceGroup', 'opens'] as const

export function remember(form: LaunchForm, storage: Storage = localStorage): void {
  const { image, cpu, mem, shmem, gpu, project, resourceGroup, folders, opens } = form
  const kept: Remembered = { image, cpu, mem, shmem, gpu, project, resourceGroup, folders, opens }
  storage.setItem(KEY, JSON.stringify(kept))
}

/** Reads the remembered choices. @returns null if there are none, or they do not (or no longer) have the shape of `remember` */
export function recall(storage: Storage = localStorage): Remembered | null {
  const value = parseJson(storage.getItem(KEY) ?? 'null')
  if (typeof value !== 'object' || value === null || !('image' in value) || typeof value.image !== 'string') return null
  const record = value as Record<string, unknown>
  if (TEXTS.some(name => record[name] !== undefined && typeof record[name] !== 'string')) return null
  if (record['folders'] !== undefined && !isFolders(record['folders'])) return null
  return NUMBERS.every(name => Number.isSafeInteger(record[name])) ? (value as Remembered) : null
}

const isFolders = (value: unknown): value is FolderChoice[] =>
  Array.isArray(value) &&
  value.every((each: Partial<Record<keyof FolderChoice, unknown>> | null) => {
    const texts = [each?.folder, each?.name, each?.path]
    return texts.every(text => typeof text === 'string') && typeof each?.readOnly === 'boolean'
  })
