import { because, type Because, choiceText, type GpuChoice } from '#manager/contract'

/** The GPUs that a request names. */
interface GpuRequest {
  readonly resources?: { readonly 'cuda.shares'?: unknown } | undefined
  readonly gpu?: GpuChoice | null | undefined
}

/** Why Slurm cannot run the request: it allocates whole GPUs only, and does not know the models that Berth shows. Pure. */
export function slurmRefusal({ resources, gpu }: GpuRequest, group: string): Because | undefined {
  if (resources?.['cuda.shares'] !== undefined) return because('slurm_without_shares', { group })
  return gpu ? because('slurm_without_choice', { group, gpu: choiceText(gpu) }) : undefined
}
