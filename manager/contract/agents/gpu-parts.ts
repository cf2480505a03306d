import { type GpuKind, namesModel, profileOf } from './gpu-match.ts'
import { type SlotName } from './resource-slots.ts'

/**
 * Parts of a physical GPU in which limits by model count: the smallest number that has whole hundredths (shares), sevenths and quarters (MIG
 * instances), so that sums are exact.
 */
export const GPU_PARTS = 700
/** Parts of a GPU in one hundredth, the base unit of shares. */
export const PARTS_OF_SHARE = GPU_PARTS / 100

const USUAL_SLICES = 7
/** Slices of the models that NVIDIA divides into fewer than seven (NVIDIA, MIG user guide, supported profiles). */
const FEWER_SLICES: readonly { readonly model: string; readonly slices: number }[] = [
  { model: 'A30', slices: 4 },
  { model: 'RTX PRO 6000', slices: 4 },
]

/** Parts of a GPU that the whole device is: all, or for a MIG instance its slices for computing. */
export function partsOfDevice({ model, isMig }: Pick<GpuKind, 'model' | 'isMig'>): number {
  if (!isMig) return GPU_PARTS
  const [, compute, slices] = /^(?:(\d+)c\.)?(\d+)g\./.exec(profileOf(model)) ?? []
  const own = Number(compute ?? slices ?? USUAL_SLICES)
  const whole = FEWER_SLICES.find(few => namesModel(few.model, physicalModel({ model, isMig })))?.slices ?? USUAL_SLICES
  return Math.min(GPU_PARTS, (own * GPU_PARTS) / whole)
}

/** Parts of a GPU that this amount of a device is. @param amount base units of the slot */
export function partsHeld(kind: Pick<GpuKind, 'model' | 'isMig'>, slot: SlotName, amount: number): number {
  return amount * (slot === 'cuda.shares' ? PARTS_OF_SHARE : partsOfDevice(kind))
}

/** Whether a limit on this model counts the device. MIG instances count towards the model of their GPU. */
export const isOfModel = (model: string, kind: Pick<GpuKind, 'model' | 'isMig'>): boolean =>
  namesModel(model, physicalModel(kind))

/** Parts as GPUs, in hundredths rounded up: `2`, `0.43`. */
export const gpusText = (parts: number): string => String(Math.ceil(parts / PARTS_OF_SHARE) / 100)

const physicalModel = ({ model, isMig }: Pick<GpuKind, 'model' | 'isMig'>) =>
  isMig ? model.slice(0, model.length - profileOf(model).length) : model
