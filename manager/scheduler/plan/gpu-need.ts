import { type GpuChoice, type GpuKind, isChosen } from '#manager/contract'
import { exclusionKey, type GpuExclusion, isExcluded } from './model-limits.ts'
import { remembered } from './remembered.ts'

/** The devices that a session may get, besides their number: those that it chooses, without those that limits exclude. */
export type GpuNeed = GpuChoice & { readonly exclusions?: readonly GpuExclusion[] | undefined }

/** Whether the session itself chooses among devices. */
export const choosesGpu = ({ model, memory, migProfile }: GpuNeed): boolean =>
  model !== undefined || memory !== undefined || migProfile !== undefined

/** Answers by kind of device, for each need. Most devices of a group are of few kinds. */
const answers = new WeakMap<GpuNeed, Map<string, boolean>>()

/** Identifies a kind of device: of equal keys, the same needs are met. */
export const kindKey = ({ model, memBytes, isMig }: GpuKind): string => `${isMig ? 'mig ' : ''}${memBytes} ${model}`

/** Whether a device of this kind may be given. */
export function meets(need: GpuNeed, kind: GpuKind, key = kindKey(kind)): boolean {
  let known = answers.get(need)
  if (!known) answers.set(need, (known = new Map<string, boolean>()))
  return remembered(known, key, () => {
    const { exclusions = [] } = need
    return isChosen(need, kind) && !exclusions.some(exclusion => isExcluded(exclusion, kind))
  })
}

/** Needs with the same key are met by the same devices; empty for any device. */
export function needKey(need: GpuNeed | undefined): string {
  if (need === undefined) return ''
  const { model = '', memory = '', migProfile = '', exclusions = [] } = need
  return `${model}/${memory}/${migProfile}/${exclusionKey(exclusions)}`
}

/** Whether a device may be given; one of an unknown kind only to a session that does not choose. */
export const mayGive = (need: GpuNeed | undefined, kind: GpuKind | undefined, key?: string): boolean =>
  need === undefined || (kind === undefined ? !choosesGpu(need) : meets(need, kind, key))
