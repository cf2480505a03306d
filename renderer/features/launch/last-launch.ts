import { choiceText, type Image, type ResourceSlots, type SessionSpec } from '#manager/contract'
import { amountText } from './amount-text.ts'
import { titleAmong } from './image-order.ts'
import { defaultForm, fitForm, type GpuSlot, isBatch, type LaunchForm, limitsOf, toSpec } from './launch-form.ts'
import { appToOpen } from './open-after.ts'
import { type Remembered } from './remembered.ts'
import { offering } from './slurm-choice.ts'
import { t } from '../../words/en/launch.ts'

/** The last launch of this computer, ready to be sent again. */
export interface LastLaunch {
  readonly title: string
  /** Text such as `2 sessions · Batch · 3 × 2 CPU cores · 4 GiB RAM · 1 GPU`, without default values. */
  readonly size: string
  readonly spec: SessionSpec
  /** Name of the app to open when the session runs; empty for none. */
  readonly opens: string
}

/**
 * The request that repeats the last launch, with amounts that agents and limits still allow; null if nothing is remembered or its image is
 * gone.
 * @param place choice in the top bar, which replaces the remembered one
 */
export function lastLaunch(
  last: Remembered | null,
  room: { readonly images: readonly Image[]; readonly largest: ResourceSlots; readonly left: ResourceSlots },
  place: Partial<Pick<LaunchForm, 'project' | 'resourceGroup'>>,
): LastLaunch | null {
  const image = room.images.find(({ reference }) => reference === last?.image)
  if (!last || !image) return null
  const wish = { ...defaultForm(image, room.largest), ...last, ...place }
  const form = fitForm(wish, image, room.largest, room.left)
  // Choices in Slurm belong to their resource group.
  const slurm = form.resourceGroup === last.resourceGroup ? offering(last) : undefined
  const limits = { ...limitsOf(image, room.largest, form.mem, room.left), slurm }
  const gpu = limits.gpu && form.gpu > 0 ? [gpuText(limits.gpu.slot, form)] : []
  return {
    title: titleAmong(room.images, image),
    size: [
      ...(form.count > 1 ? [t('sessionCount', { count: form.count })] : []),
      ...(isBatch(form) ? [t('batch')] : []),
      `${form.clusterSize > 1 ? `${form.clusterSize} × ` : ''}${amountText('cpu', form.cpu)}`,
      amountText('mem', form.mem),
      ...gpu,
    ].join(' · '),
    spec: toSpec(form, limits),
    opens: appToOpen(form, image),
  }
}

const gpuText = (slot: GpuSlot, { gpu, gpuChoice }: LaunchForm) =>
  amountText(slot, gpu) + (gpuChoice ? ` (${choiceText(gpuChoice)})` : '')
