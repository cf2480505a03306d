import { defined } from '#base/defined'
import {
  AppError,
  because,
  formatSlots,
  lackingSlots,
  parseAmount,
  parseSlots,
  type Preset,
  type PresetChange,
  type PresetSpec,
  SLOT_NAMES,
} from '#manager/contract'
import { requireGpu } from '../scheduler/require-gpu.ts'
import { canTake, FreeCapacity } from '../scheduler/plan/index.ts'
import { type PlacingPresence, readFreeCapacity } from '../scheduler/snapshot.ts'
import { listAgents } from '../store/agents/agents.ts'
import {
  deletePreset,
  insertPreset,
  listPresets,
  type PresetRow,
  type PresetSettings,
  updatePreset,
} from '../store/quotas/presets.ts'
import { findResourceGroup } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { accessibleTo } from './access.ts'
import { requireGroupOf } from './group-of.ts'
import { asked, readWhatIsLeft } from './what-is-left.ts'

/** Presets: session sizes offered in the launch dialog, managed by superadmins. */
export interface Presets {
  /** @throws AppError `group_not_found` */
  list(caller: Caller, query: PresetQuery): Promise<Preset[]>
  /** @throws AppError `preset_exists`, `bad_request` */
  create(caller: Caller, spec: PresetSpec): Promise<Preset>
  /** @throws AppError `preset_not_found`, `bad_request` */
  change(caller: Caller, name: string, change: PresetChange): Promise<Preset>
  /** @throws AppError `preset_not_found` */
  remove(name: string): Promise<void>
}

export interface PresetQuery {
  readonly resourceGroup: string
  readonly group?: string | undefined
  /** Whether to list only the presets that fit now. */
  readonly fitting?: boolean | undefined
  /** False omits the information whether each preset fits. */
  readonly fits?: boolean | undefined
}

export function createPresets({ db, presence }: { db: Db; presence: PlacingPresence }): Presets {
  async function withFit(caller: Caller, rows: readonly PresetRow[], query: PresetQuery): Promise<Preset[]> {
    const fits = await readFit({ db, presence }, caller, query)
    return rows.map(row => toPreset(row, fits(row)))
  }

  async function one(caller: Caller, row: PresetRow): Promise<Preset> {
    const [preset] = await withFit(caller, [row], { resourceGroup: 'default' })
    return preset ?? toPreset(row, false)
  }

  return {
    async list(caller, query) {
      const rows = await listPresets(db)
      if (query.fits === false && !query.fitting) return rows.map(row => toPreset(row))
      const presets = await withFit(caller, rows, query)
      return query.fitting ? presets.filter(preset => preset.fits) : presets
    },
    async create(caller, { name, slots, gpu, shmem }) {
      const settings = { slots: parseSlots(slots), gpu, shmem_bytes: bytesOf(shmem) }
      const known = (await listPresets(db)).some(preset => preset.name.toLowerCase() === name.toLowerCase())
      if (known) throw new AppError('preset_exists', { name })
      checkSize(settings)
      const row = await insertPreset(db, name, settings)
      if (!row) throw new AppError('preset_exists', { name })
      return one(caller, row)
    },
    async change(caller, name, { slots, gpu, shmem }) {
      const before = (await listPresets(db)).find(preset => preset.name === name)
      if (!before) throw unknown(name)
      const settings = {
        slots: slots === undefined ? before.slots : parseSlots(slots),
        gpu: gpu === undefined ? before.gpu : gpu,
        shmem_bytes: shmem === undefined ? before.shmem_bytes : bytesOf(shmem),
      }
      checkSize(settings)
      const row = await updatePreset(db, name, settings)
      if (!row) throw unknown(name)
      return one(caller, row)
    },
    async remove(name) {
      if (!(await deletePreset(db, name))) throw unknown(name)
    },
  }
}

/** Whether the caller could start a session of this size now: within the limits, and with free capacity on one agent. */
async function readFit({ db, presence }: { db: Db; presence: PlacingPresence }, caller: Caller, query: PresetQuery) {
  const group = query.group === undefined ? null : await requireGroupOf(db, caller, query.group)
  const left = await readWhatIsLeft(db, asked(caller, group?.id ?? null))
  const accessible = await accessibleTo(db, caller)
  const open = accessible === undefined || accessible.has(query.resourceGroup)
  const agents = open ? await readFreeCapacity(db, await listAgents(db, query.resourceGroup), presence) : []
  const { options } = (await findResourceGroup(db, query.resourceGroup)) ?? {}
  const freeCapacities = agents.filter(agent => canTake(agent, options)).map(agent => new FreeCapacity(agent))
  const limited = SLOT_NAMES.filter(slot => left.slots[slot] !== undefined)
  return ({ slots, gpu }: PresetRow): boolean => {
    if (left.sessions === 0 || lackingSlots(slots, left.slots).some(slot => limited.includes(slot))) return false
    const exclusions = left.exclusions(slots)
    const need = exclusions.length === 0 ? (gpu ?? undefined) : { ...gpu, exclusions }
    return freeCapacities.some(freeCapacity => freeCapacity.fits(slots, false, 1, need))
  }
}

function unknown(name: string): AppError {
  return new AppError('preset_not_found', { name, ...because('preset_unknown', { preset: name }) })
}

function bytesOf(shmem: string | null): number | null {
  return shmem === null ? null : (parseAmount('mem', shmem) ?? null)
}

function checkSize({ slots, gpu, shmem_bytes: shmem }: PresetSettings): void {
  const { cpu = 0, mem = 0 } = slots
  if (cpu <= 0 || mem <= 0) throw new AppError('bad_request', because('preset_needs_both'))
  if (gpu !== null) requireGpu(slots, gpu)
  if (shmem === null || shmem <= mem) return
  throw new AppError('bad_request', because('shmem_within_mem'))
}

function toPreset(row: PresetRow, fits?: boolean): Preset {
  return {
    name: row.name,
    slots: formatSlots(row.slots),
    gpu: row.gpu,
    shmem: row.shmem_bytes === null ? null : String(row.shmem_bytes),
    ...defined({ fits }),
    createdAt: row.created_at.toISOString(),
    version: row.version,
  }
}
