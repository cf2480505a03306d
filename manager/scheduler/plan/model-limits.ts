import {
  because,
  type Because,
  GPU_PARTS,
  type GpuKind,
  gpusText,
  isOfModel,
  PARTS_OF_SHARE,
  partsHeld,
  partsOfDevice,
} from '#manager/contract'
import { type DeviceSlot } from './device-slot.ts'

/** Most GPUs of one model that the sessions of a scope hold together, and what they hold; parts of which a GPU has GPU_PARTS. */
export interface ModelLimit {
  /** Words of the model, as in a choice of GPUs. */
  readonly model: string
  readonly limit: number
  readonly held: number
}

/**
 * Devices of a model that a session does not get, because with them it would exceed a limit: those that are more than `most` parts of a
 * GPU. So a limit that leaves half a GPU excludes whole ones, but not a small MIG instance.
 */
export interface GpuExclusion {
  readonly model: string
  readonly most: number
}

/** A device that a session gets or may get. */
export interface KindOfDevice {
  readonly slot: DeviceSlot
  readonly kind?: GpuKind | undefined
}

/** A device with the amount that a session gets of it, in base units of the slot. */
export type GivenDevice = KindOfDevice & { readonly amount: number }

/** Amounts of GPUs of a whole session, in base units. */
export interface GpuDemand {
  readonly devices: number
  readonly shares: number
}

export const isExcluded = ({ model, most }: GpuExclusion, kind: GpuKind): boolean =>
  isOfModel(model, kind) && partsOfDevice(kind) > most

export const exclusionKey = (exclusions: readonly GpuExclusion[]): string =>
  exclusions.map(({ model, most }) => `${model}>${most}`).join(',')

/**
 * The devices that a limit excludes for this demand: a session gets either all of its GPUs from among the devices of the model, or none.
 * Whatever mixture of the remaining ones it gets is within the limit, because it could have only them.
 */
export function exclusionOf(
  { model, limit, held }: ModelLimit,
  { devices, shares }: GpuDemand,
): GpuExclusion | undefined {
  const rest = Math.max(0, limit - held)
  const isEnough = devices * GPU_PARTS + shares * PARTS_OF_SHARE <= rest
  if (isEnough) return undefined
  // Whole devices and shares together: no device of the model, because each bound alone would not hold for the sum.
  return { model, most: shares > 0 ? 0 : Math.floor(rest / devices) }
}

/** Parts of this model's GPUs in these devices. */
export const partsOfModel = (model: string, devices: readonly GivenDevice[]): number =>
  devices.reduce(
    (sum, { kind, slot, amount }) => (kind && isOfModel(model, kind) ? sum + partsHeld(kind, slot, amount) : sum),
    0,
  )

/** Holder of a limit: a project or domain itself, a user or keypair by a resource policy. */
export type HolderOfLimit = 'user' | 'keypair' | 'project' | 'domain'

/** Says what the session needs, the limit, and what is held of it. */
export function modelLack(
  { model, limit, held }: ModelLimit,
  { kind, name, needed }: { readonly kind: HolderOfLimit; readonly name: string; readonly needed: string },
): Because {
  const amounts = { needed, model, limit: gpusText(limit), held: gpusText(held) }
  return kind === 'project' || kind === 'domain'
    ? because(`needs_model_of_${kind}`, { ...amounts, name })
    : because(`needs_model_of_${kind}`, { ...amounts, policy: name })
}
