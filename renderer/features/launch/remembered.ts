import { parseJson } from '#base/parse-json'
import { isGpuChoice, type UserId } from '#manager/contract'
import { type FolderChoice } from './folder-choice.ts'
import { keyOf } from '../../data/launch/forget-launch.ts'
import { type LaunchForm, NETWORK_CHOICES } from './launch-form.ts'

const NUMBERS = ['cpu', 'mem', 'shmem', 'gpu'] as const
const COUNTS = ['count', 'clusterSize', 'priority'] as const
const TEXTS = [
  'project',
  'resourceGroup',
  'startupCommand',
  'maxLifetime',
  'idleTimeout',
  'slurmTime',
  'opens',
  'allowedNames',
] as const
const CHOICES = ['automount', 'runImageCommand', 'interruptible', 'severalHosts'] as const
const KINDS: readonly unknown[] = ['interactive', 'batch'] satisfies LaunchForm['kind'][]
const OPTIONAL = [...COUNTS, ...TEXTS, ...CHOICES, 'kind', 'network', 'folders', 'gpuChoice', 'slurmValues'] as const

/**
 * The choices of the last launch of an account, stored in this browser until it signs out. The name is left out (it is taken now), and so
 * are the values of environment variables: they often hold passwords and keys, which do not belong in browser storage. Values that belong
 * to one launch only are left out too: its start time, the sessions that it waited for, and the owner.
 */
export type Remembered = Pick<LaunchForm, 'image' | (typeof NUMBERS)[number]> &
  Partial<Pick<LaunchForm, (typeof OPTIONAL)[number]>>

export function remember(user: UserId | undefined, form: LaunchForm, storage: Storage = localStorage): void {
  const kept = Object.fromEntries((['image', ...NUMBERS, ...OPTIONAL] as const).map(name => [name, form[name]]))
  storage.setItem(keyOf(user), JSON.stringify(withoutFull(kept)))
}

/** Reads the remembered choices. @returns null if there are none, or their shape is not that of `remember` */
export function recall(user: UserId | undefined, storage: Storage = localStorage): Remembered | null {
  const value = parseJson(storage.getItem(keyOf(user)) ?? 'null')
  if (typeof value !== 'object' || value === null) return null
  const record = value as Record<string, unknown>
  const all = (names: readonly string[], isGood: (value: unknown) => boolean) =>
    names.every(name => record[name] === undefined || isGood(record[name]))
  const isGood =
    typeof record['image'] === 'string' &&
    NUMBERS.every(name => Number.isSafeInteger(record[name])) &&
    all(COUNTS, Number.isSafeInteger) &&
    all(TEXTS, text => typeof text === 'string') &&
    all(CHOICES, choice => typeof choice === 'boolean') &&
    all(['kind'], kind => KINDS.includes(kind)) &&
    all(['network'], mode => (NETWORK_CHOICES as readonly unknown[]).includes(mode)) &&
    all(['folders'], isFolders) &&
    all(['slurmValues'], isTexts) &&
    all(['gpuChoice'], choice => choice === null || isGpuChoice(choice))
  return isGood ? withoutFull(value as Remembered) : null
}

/** Everything is chosen for one launch only: a default of less counts for the next one. Earlier versions wrote `full` for the default. */
const withoutFull = <T extends { network?: unknown }>(kept: T): T =>
  kept.network === 'full' ? { ...kept, network: 'usual' } : kept

const isTexts = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')
const isFolders = (value: unknown): value is FolderChoice[] =>
  Array.isArray(value) &&
  value.every((each: Partial<Record<keyof FolderChoice, unknown>> | null) => {
    const texts = [each?.folder, each?.name, each?.path]
    return texts.every(text => typeof text === 'string') && typeof each?.readOnly === 'boolean'
  })
