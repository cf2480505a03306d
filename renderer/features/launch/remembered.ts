import { type LaunchForm } from './launch-form.ts'

/**
 * The last choices, on this computer. Not the name (it is taken now) and not the values of environment variables:
 * they often hold passwords and keys, which do not belong into the storage of a browser.
 */
export type Remembered = Pick<LaunchForm, 'image' | 'cpu' | 'mem' | 'shmem' | 'gpu'> &
  Partial<Pick<LaunchForm, 'project' | 'resourceGroup'>>

const KEY = 'berth.launch'
const NUMBERS = ['cpu', 'mem', 'shmem', 'gpu'] as const
const PLACES = ['project', 'resourceGroup'] as const

export function remember(form: LaunchForm, storage: Storage = localStorage): void {
  const { image, cpu, mem, shmem, gpu, project, resourceGroup } = form
  storage.setItem(KEY, JSON.stringify({ image, cpu, mem, shmem, gpu, project, resourceGroup } satisfies Remembered))
}

/** @returns null for nothing, or something that is not (any more) what `remember` wrote */
export function recall(storage: Storage = localStorage): Remembered | null {
  try {
    const value: unknown = JSON.parse(storage.getItem(KEY) ?? 'null')
    if (typeof value !== 'object' || value === null || !('image' in value) || typeof value.image !== 'string')
      return null
    const record = value as Record<string, unknown>
    if (PLACES.some(name => record[name] !== undefined && typeof record[name] !== 'string')) return null
    return NUMBERS.every(name => Number.isSafeInteger(record[name])) ? (value as Remembered) : null
  } catch {
    return null
  }
}
