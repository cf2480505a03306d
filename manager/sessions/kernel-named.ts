import { AppError, because, type KernelId } from '#manager/contract'

/** Finds a kernel by its role (`sub1`) or its id. @throws AppError `kernel_not_found` */
export function kernelNamed<K extends { readonly id: KernelId; readonly role: string }>(
  kernels: readonly K[],
  wanted: string,
): K {
  const kernel = kernels.find(one => one.role === wanted || one.id === wanted)
  if (kernel) return kernel
  throw new AppError('kernel_not_found', { kernel: wanted, ...because('kernel_unknown', { kernel: wanted }) })
}
