import { type GpuChoice, type GpuKind, isChosen } from '#manager/contract'
import { remembered } from './remembered.ts'

/** The devices that a session may get, besides their number. */
export type GpuNeed = GpuChoice

/** Answers by kind of device, for each need. Most devices of a group are of few kinds. */
const answers = new WeakMap<GpuNeed, Map<string, boolean>>()

/** Identifies a kind of device: of equal keys, the same needs are met. */
export const kindKey = ({ model, memBytes, isMig }: GpuKind): string => `${isMig ? 'mig ' : ''}${memBytes} ${model}`

/** Whether a device of this kind may be given. */
export function meets(need: GpuNeed, kind: GpuKind, key = kindKey(kind)): boolean {
  let known = answers.get(need)
  if (!known) answers.set(need, (known = new Map<string, boolean>()))
  return remembered(known, key, () => isChosen(need, kind))
}

/** Needs with the same key are met by the same devices; empty for any device. */
export function needKey(need: GpuNeed | undefined): string {
  return need === undefined ? '' : `${need.model ?? ''}/${need.memory ?? ''}/${need.migProfile ?? ''}`
}
