import { type EngineNode } from '../allocator.ts'

/** Reads the answer of `scontrol show nodes --oneliner`. Pure. */
export function readNodes(text: string): EngineNode[] {
  return text.split('\n').flatMap(line => {
    const [, name] = /^NodeName=(\S+)/.exec(line) ?? []
    const [, gres = ''] = / Gres=(\S+)/.exec(line) ?? []
    return name === undefined ? [] : [{ name, gpuTypes: gpuTypes(gres) }]
  })
}

/** Types of GPUs in a text such as `gpu:a100:2(S:0-1),gpu:h100:2,shard:8`; empty if any has no type, because then the order is not known. */
function gpuTypes(gres: string): string[] {
  const gpus = gres
    .replaceAll(/\([^)]*\)/g, '')
    .split(',')
    .filter(part => part.startsWith('gpu:'))
    .map(part => part.split(':').slice(1))
  if (gpus.some(parts => parts.length !== 2)) return []
  return gpus.flatMap(([type = '', count]) =>
    Array.from({ length: Math.min(Number(count) || 0, MOST_GPUS) }, () => type),
  )
}

const MOST_GPUS = 1_024
