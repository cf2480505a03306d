import { type SessionGpu, type SessionStats } from '#manager/contract'

const FIELDS = [
  'cpuMilli',
  'memBytes',
  'memPeakBytes',
  'netRxBytes',
  'netTxBytes',
  'diskReadBytes',
  'diskWriteBytes',
] as const
/** Fraction of a window that the samples must span for a judgement. */
const ENOUGH = 0.8

/** Activity of one kernel over a window of time. */
export interface SampleWindow {
  /** Time between the first and the last sample. */
  readonly seconds: number
  readonly cpuMilli: number
  /**
   * Mean utilisation of the kernel's busiest GPU by the kernel itself; 0 for one without GPUs. Where that is not known, the utilisation of
   * the device counts, unless the kernel has no memory there: nobody may take work for idleness. Unknown counts as 0.
   */
  readonly gpuUtilization: number
  readonly diskBytes: number
  readonly netBytes: number
}

/** Numbers per sample: time, the fields, CPU seconds and scratch bytes. */
const FIXED = 1 + FIELDS.length + 2
/** Numbers per GPU, which follow: utilisation and memory of the kernel, and those of the device. */
const PER_GPU = 4

/** A GPU of the kernel; the memory of the device, if the agent tells about the device. */
type RingGpu = { readonly uuid: string; readonly totalBytes: number | undefined }

/**
 * Ring buffer of the last samples of one kernel, as plain numbers. 300 samples take 24 KB (and 9.6 KB per GPU); as objects
 * they would take ten times that, for each of thousands of sessions. A change of the kernel's GPUs empties the ring.
 */
export class SampleRing {
  readonly #kept: number
  #gpus: readonly RingGpu[] = []
  #width = FIXED
  #numbers: Float64Array
  #next = 0
  #size = 0

  constructor(kept: number) {
    this.#kept = kept
    this.#numbers = new Float64Array(kept * FIXED)
  }

  add(stats: SessionStats): void {
    if (!isSame(this.#gpus, stats.gpus)) {
      this.#gpus = stats.gpus.map(({ uuid, device }) => ({ uuid, totalBytes: device?.totalBytes }))
      this.#width = FIXED + PER_GPU * this.#gpus.length
      this.#numbers = new Float64Array(this.#kept * this.#width)
      this.#next = this.#size = 0
    }
    const at = this.#next * this.#width
    this.#numbers[at] = Date.parse(stats.at)
    FIELDS.forEach((field, index) => (this.#numbers[at + 1 + index] = stats[field]))
    this.#numbers[at + FIXED - 2] = stats.cpuSeconds ?? NaN
    this.#numbers[at + FIXED - 1] = stats.scratchBytes ?? NaN
    stats.gpus.forEach(({ utilization, memBytes, device }, index) => {
      const numbers = [utilization, memBytes, device?.utilization, device?.memBytes].map(number => number ?? NaN)
      this.#numbers.set(numbers, at + FIXED + PER_GPU * index)
    })
    this.#next = (this.#next + 1) % this.#kept
    this.#size = Math.min(this.#size + 1, this.#kept)
  }

  /** Time of the last sample; 0 without any. */
  get lastAt(): number {
    return this.#size === 0 ? 0 : this.#number(this.#offset(0))
  }

  /** The last samples, oldest first. @param count at most this many */
  last(count = Infinity): SessionStats[] {
    const wanted = Math.min(count, this.#size)
    return Array.from({ length: wanted }, (_, index) =>
      this.#read((this.#next - wanted + index + this.#kept) % this.#kept),
    )
  }

  /**
   * Activity within the last `windowMs`, computed on the raw numbers: this runs for every session every few seconds.
   *
   * @param now time by the clock that stamps the samples
   * @returns undefined if the last sample is older than `freshMs`, or they span less than four fifths of the window
   */
  window(now: number, { windowMs, freshMs }: { windowMs: number; freshMs: number }): SampleWindow | undefined {
    let [count, cpuMilli, first] = [0, 0, 0]
    const gpus = this.#gpus.map(() => 0)
    const last = this.#offset(0)
    for (; count < this.#size; count++) {
      const at = this.#offset(count)
      if (this.#number(at) <= now - windowMs) break
      first = at
      cpuMilli += this.#number(at + 1)
      for (let i = 0; i < gpus.length; i++) gpus[i] = (gpus[i] ?? 0) + this.#mayBeOwn(at + FIXED + PER_GPU * i)
    }
    const spanMs = count === 0 ? 0 : this.#number(last) - this.#number(first)
    if (count === 0 || this.#number(last) < now - freshMs || spanMs < windowMs * ENOUGH) return undefined
    // A restarted container counts from 0.
    const grown = (field: (typeof FIELDS)[number]) => {
      const offset = 1 + FIELDS.indexOf(field)
      return Math.max(0, this.#number(last + offset) - this.#number(first + offset))
    }
    return {
      seconds: spanMs / 1000,
      cpuMilli: cpuMilli / count,
      gpuUtilization: Math.max(0, ...gpus) / count,
      diskBytes: grown('diskReadBytes') + grown('diskWriteBytes'),
      netBytes: grown('netRxBytes') + grown('netTxBytes'),
    }
  }

  /** Utilisation of a GPU that is the kernel's, or may be. */
  #mayBeOwn(offset: number): number {
    const own = this.#number(offset)
    if (!Number.isNaN(own)) return own
    return this.#number(offset + 1) === 0 ? 0 : (orNull(this.#number(offset + 2)) ?? 0)
  }

  /** Offset of a sample. @param age 0 = the last one */
  #offset(age: number): number {
    return ((this.#next - 1 - age + 2 * this.#kept) % this.#kept) * this.#width
  }

  #number(offset: number): number {
    return this.#numbers[offset] ?? 0
  }

  #read(index: number): SessionStats {
    const at = index * this.#width
    const number = (offset: number) => this.#number(at + offset)
    const fields = Object.fromEntries(FIELDS.map((field, i) => [field, number(1 + i)])) as Pick<
      SessionStats,
      (typeof FIELDS)[number]
    >
    const [cpuSeconds, scratchBytes] = [number(FIXED - 2), number(FIXED - 1)]
    return {
      at: new Date(number(0)).toISOString(),
      ...fields,
      ...(Number.isNaN(cpuSeconds) ? {} : { cpuSeconds }),
      scratchBytes: orNull(scratchBytes),
      gpus: this.#gpus.map(({ uuid, totalBytes }, i) => {
        const [own, device] = [0, 2].map(skip => ({
          utilization: orNull(number(FIXED + PER_GPU * i + skip)),
          memBytes: orNull(number(FIXED + PER_GPU * i + skip + 1)),
        })) as [Use, Use]
        return { uuid, ...own, ...(totalBytes === undefined ? {} : { device: { ...device, totalBytes } }) }
      }),
    }
  }
}

const orNull = (value: number) => (Number.isNaN(value) ? null : value)

type Use = Pick<SessionGpu, 'utilization' | 'memBytes'>

function isSame(known: readonly RingGpu[], gpus: readonly SessionGpu[]): boolean {
  return (
    known.length === gpus.length &&
    gpus.every(({ uuid, device }, i) => uuid === known[i]?.uuid && device?.totalBytes === known[i].totalBytes)
  )
}
