import { createHash } from 'node:crypto'

const BLOCK = Buffer.alloc(2 ** 20, 7)

/** The same work each time, like that of the tests: hashes, objects, JSON. @returns processor milliseconds that it took */
function slice(): number {
  const before = process.cpuUsage()
  const hash = createHash('sha256')
  for (let block = 0; block < 8; block++) hash.update(BLOCK)
  hash.digest()
  const entries = new Map<string, unknown>()
  for (let index = 0; index < 40_000; index++) entries.set(`key ${index % 4_096}`, { index, text: String(index) })
  JSON.parse(JSON.stringify([...entries]))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

export const median = (list: readonly number[]): number =>
  list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0

const EVERY_MS = 15_000
/** Slices that do not count: until then V8 has not compiled the code well. */
const WARM_UP = 5

/**
 * How fast this machine's processor is while other programs use it too: processor milliseconds of a fixed piece of work, as the median
 * of pieces throughout a run. It costs a thousandth of the run.
 */
export function startSpeedometer(): Disposable & { readonly sliceMs: () => number } {
  const slices = Array.from({ length: WARM_UP + 3 }, slice).slice(WARM_UP)
  const timer = setInterval(() => slices.push(slice()), EVERY_MS)
  timer.unref()
  return { sliceMs: () => median(slices), [Symbol.dispose]: () => clearInterval(timer) }
}
