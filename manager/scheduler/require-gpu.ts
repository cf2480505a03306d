import { AppError, because, choiceText, type GpuChoice, type ResourceSlots } from '#manager/contract'

/** @throws AppError `bad_request` for a choice of GPUs by a request for none */
export function requireGpu(
  { 'cuda.device': devices = 0, 'cuda.shares': shares = 0 }: ResourceSlots,
  gpu: GpuChoice,
): void {
  if (devices > 0 || shares > 0) return
  throw new AppError('bad_request', because('gpu_chosen_without_gpu', { gpu: choiceText(gpu) }))
}
