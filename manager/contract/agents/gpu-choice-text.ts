import { type GpuChoice } from './gpu-choice.ts'
import { parseAmount } from './resource-slots.ts'

const GIB = 2 ** 30

// A file of its own, because the list of sessions shows it: the first load of the page has the whole of each file.
/** The choice in a few characters, equal in every language: `H100, ≥ 40 GiB`, `MIG 3g.20gb`. */
export function choiceText({ model, memory, migProfile }: GpuChoice): string {
  const gib = (parseAmount('mem', memory ?? '') ?? 0) / GIB
  const least = gib > 0 && `≥ ${Math.round(gib * 100) / 100} GiB`
  return [model, migProfile && `MIG ${migProfile}`, least].filter(Boolean).join(', ')
}
