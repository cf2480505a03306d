import { type Device, type GpuKind } from '#manager/contract'

/** By what sessions choose the GPU. */
export const kindOf = ({ model, memBytes, mode }: Pick<Device, 'model' | 'memBytes' | 'mode'>): GpuKind => ({
  model,
  memBytes,
  isMig: mode === 'mig',
})
