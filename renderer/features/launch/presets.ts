import {
  choiceText,
  parseAmount,
  parseSlots,
  SLOT_NAMES,
  type Image,
  type Preset,
  type Resources,
  type ResourceSlots,
} from '#manager/contract'
import { amountText } from './amount-text.ts'
import { leftText } from './forecast.ts'
import { isThere } from './gpu-options.ts'
import { fitForm, isKnown, MIB, type GpuSlot, type LaunchForm, type LaunchLimits } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

/** Resources that a session can get now, according to agents and limits. */
export interface Room {
  readonly largest: ResourceSlots
  readonly free: ResourceSlots
  readonly left: ResourceSlots
  readonly sessionsLeft: number | null
  readonly partsHold: Resources['partsHold']
  readonly sharedGpus: Resources['sharedGpus']
  readonly gpus: Resources['gpus']
  /** Limits of the user on the GPUs of single models. */
  readonly gpuLimits: NonNullable<Resources['gpuLimits']>
}

/** Choices and limits that determine the amounts of a preset. */
interface PresetContext {
  readonly limits: LaunchLimits
  readonly image: Image | undefined
  readonly room: Room
}

const GPU_SLOTS = ['cuda.device', 'cuda.shares'] as const

/** `2 CPU cores · 4 GiB RAM · 1 GPU` */
export function presetSize(preset: Preset): string {
  const slots = parseSlots(preset.slots)
  const size = SLOT_NAMES.flatMap(name => (slots[name] ? [amountText(name, slots[name])] : [])).join(' · ')
  return preset.gpu ? `${size} (${choiceText(preset.gpu)})` : size
}

/** Whether a preset is worth showing: one with GPUs is not if no host has GPUs. */
export function isOffered(preset: Preset, { largest }: Pick<Room, 'largest'>): boolean {
  const slots = parseSlots(preset.slots)
  const wantsGpu = GPU_SLOTS.some(name => (slots[name] ?? 0) > 0)
  return !wantsGpu || !isKnown(largest) || GPU_SLOTS.some(name => (largest[name] ?? 0) > 0)
}

/** The reason why a preset cannot be chosen; empty if it can. Limits come before agents, because users can ask for higher limits. */
export function presetHindrance(preset: Preset, gpu: GpuSlot | undefined, room: Room): string {
  const slots = parseSlots(preset.slots)
  const over = (most: ResourceSlots) => SLOT_NAMES.find(name => (slots[name] ?? 0) > (most[name] ?? 0))
  const limited = SLOT_NAMES.find(name => (slots[name] ?? 0) > (room.left[name] ?? Infinity))
  if (limited) return t('limitLeaves', { amount: leftText(limited, Math.max(0, room.left[limited] ?? 0)) })
  if (!isKnown(room.largest)) {
    // The preset can be requested and would wait; the future GPUs are unknown.
    return GPU_SLOTS.some(name => (slots[name] ?? 0) > 0) ? t('gpusUnknown') : ''
  }
  if (preset.gpu && !isThere(preset.gpu, room.gpus)) return t('presetGpuNowhere', { gpu: choiceText(preset.gpu) })
  const tooLarge = over(room.largest)
  if (tooLarge) return t('largestHas', { amount: leftText(tooLarge, room.largest[tooLarge] ?? 0) })
  return GPU_SLOTS.some(name => name !== gpu && (slots[name] ?? 0) > 0) ? t('otherGpuKind') : ''
}

/** Reason why a session of a selectable preset would wait now; empty if it would not. */
export function presetWait(preset: Preset, room: Room): string {
  if (preset.fits || !isKnown(room.largest)) return ''
  const slots = parseSlots(preset.slots)
  if (room.sessionsLeft !== null && room.sessionsLeft <= 0) return t('limitReachedShort')
  const busy = SLOT_NAMES.find(name => (slots[name] ?? 0) > (room.free[name] ?? 0))
  return busy ? t('freeOnly', { amount: leftText(busy, Math.max(0, room.free[busy] ?? 0)) }) : t('noRoom')
}

/**
 * Applies a preset to the form. Slots that the preset does not name keep their value, except GPUs, which become 0, and shared
 * memory, which becomes 64 MiB; `fitForm` then applies the bounds of image and limits.
 */
export function withPreset(form: LaunchForm, preset: Preset, { limits, image, room }: PresetContext): LaunchForm {
  const slots = parseSlots(preset.slots)
  const shmem = preset.shmem === null ? undefined : parseAmount('mem', preset.shmem)
  const sized = {
    ...form,
    cpu: slots.cpu ?? form.cpu,
    mem: slots.mem ?? form.mem,
    shmem: shmem ?? 64 * MIB,
    gpu: limits.gpu ? (slots[limits.gpu.slot] ?? 0) : 0,
    gpuChoice: preset.gpu ?? null,
  }
  return fitForm(sized, image, room.largest, room.left)
}

/** Name of the selectable preset with the amounts of the form; null if there is none. */
export function presetShown(form: LaunchForm, presets: readonly Preset[], context: PresetContext): string | null {
  const { limits, room } = context
  const shown = presets.find(preset => {
    const like = withPreset(form, preset, context)
    const isSame = (['cpu', 'mem', 'shmem', 'gpu'] as const).every(name => like[name] === form[name])
    const isSameGpu = JSON.stringify(like.gpuChoice) === JSON.stringify(form.gpuChoice)
    return isSame && isSameGpu && presetHindrance(preset, limits.gpu?.slot, room) === ''
  })
  return shown?.name ?? null
}
