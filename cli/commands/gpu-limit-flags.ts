import { type Command, InvalidArgumentError } from 'commander'
import { GpuLimit, modelKey } from '#manager/contract'
import { UNLIMITED } from './limit-flags.ts'

/** Value of one `--gpu-limit`. `gpus` is the keyword `unlimited` to remove the limit of a model; the keyword alone removes all limits. */
export type GpuLimitFlag = typeof UNLIMITED | { readonly model: string; readonly gpus: string }

/** Adds --gpu-limit. */
export const withGpuLimitOption = (command: Command): Command =>
  command.option(
    '--gpu-limit <model=n>',
    `most GPUs of a model, e.g. H100=2 or "A100 80GB=1.5"; may be repeated. H100=${UNLIMITED} ends one limit, ${UNLIMITED} all`,
    collectGpuLimits,
  )

/** `H100=2, T4=0` */
export const gpuLimitsText = (limits: readonly GpuLimit[]): string =>
  limits.map(({ model, gpus }) => `${model}=${gpus}`).join(', ')

/** Parser of a repeatable option. @param before values of the earlier ones */
export function collectGpuLimits(text: string, before: readonly GpuLimitFlag[] = []): GpuLimitFlag[] {
  return [...before, parseGpuLimit(text)]
}

function parseGpuLimit(text: string): GpuLimitFlag {
  if (text === UNLIMITED) return text
  const at = text.lastIndexOf('=')
  const [model, gpus] = [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1).trim()]
  const isGood = GpuLimit.safeParse({ model, gpus: gpus === UNLIMITED ? '0' : gpus }).success
  if (at > 0 && isGood) return { model, gpus }
  throw new InvalidArgumentError(
    `Give a model and a number of GPUs in steps of 0.01, such as H100=2 or "A100 80GB=0.5", or ${UNLIMITED} instead of the number.`,
  )
}

/** The previous limits with those of the flags, in order. */
export function withGpuLimits(before: readonly GpuLimit[], flags: readonly GpuLimitFlag[]): GpuLimit[] {
  let limits = [...before]
  for (const flag of flags) {
    if (flag === UNLIMITED) {
      limits = []
      continue
    }
    const others = limits.filter(({ model }) => modelKey(model) !== modelKey(flag.model))
    limits = flag.gpus === UNLIMITED ? others : [...others, flag]
  }
  return limits
}
