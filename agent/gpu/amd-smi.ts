import { z } from 'zod'

// Forms of amd-smi (ROCm 6 and 7) and rocm-smi (ROCm 5 and older). Versions differ in what wraps the list, and in whether an amount is a
// number or has a unit; what a driver does not tell is "N/A". Unknown is not 0.

const MiB = 2 ** 20

/** A GPU as the tool describes it. */
export interface AmdRow {
  /** PCI address, as sysfs writes it: `0000:c1:00.0`. */
  readonly bus: string
  readonly model?: string | undefined
  readonly memBytes?: number | undefined
  /** Whether it is a part of a divided GPU, or has such parts. */
  readonly isPartitioned?: boolean | undefined
}

/** Health of one GPU. */
export interface AmdHealth {
  /** Errors that the memory could not correct, since the driver was loaded; undefined if not known. */
  readonly uncorrectable?: number | undefined
  /** Whether pages of the memory wait for a reset to be retired. */
  readonly hasPendingPages?: boolean | undefined
  readonly isThrottled?: boolean | undefined
}

const Amount = z.union([
  z.number(),
  z.string(),
  z.looseObject({ value: z.union([z.number(), z.string()]), unit: z.string().optional() }),
])
const Part = <T extends z.ZodRawShape>(shape: T) => z.union([z.looseObject(shape), z.string()]).optional()
const Entry = z.looseObject({
  gpu: z.union([z.number(), z.string()]),
  bdf: z.string().optional(),
  partition_id: z.union([z.number(), z.string()]).optional(),
  asic: Part({ market_name: z.string().optional() }),
  bus: Part({ bdf: z.string().optional() }),
  vram: Part({ size: Amount.optional() }),
  ecc: Part({ total_uncorrectable_count: Amount.optional() }),
  power: Part({ throttle_status: z.string().optional() }),
  pending: z.unknown().optional(),
})
type Entry = z.infer<typeof Entry>
const Entries = z.union([
  z.array(Entry),
  z.object({ gpu_data: z.array(Entry) }).transform(({ gpu_data: list }) => list),
])

/** Entries of an output of amd-smi; undefined for anything else. Lines before the JSON are warnings. */
function parseEntries(text: string): readonly Entry[] | undefined {
  return Entries.safeParse(parseJson(text)).data
}

/** @param texts outputs of `amd-smi list --json` and `amd-smi static --asic --bus --vram --json` */
export function parseAmdSmi(texts: { readonly list: string; readonly details: string }): AmdRow[] {
  const list = parseEntries(texts.list) ?? []
  const details = new Map((parseEntries(texts.details) ?? []).map(entry => [String(entry.gpu), entry]))
  const rows = list.flatMap(entry => {
    const { asic, bus, vram } = details.get(String(entry.gpu)) ?? {}
    const address = entry.bdf ?? (typeof bus === 'object' ? bus.bdf : undefined)
    if (address === undefined) return []
    return [
      {
        bus: address.toLowerCase(),
        model: known(typeof asic === 'object' ? asic.market_name : undefined),
        memBytes: bytesOf(typeof vram === 'object' ? vram.size : undefined),
        partition: Number(entry.partition_id ?? 0),
      },
    ]
  })
  // Partitions of a GPU have its address, with functions of their own or the same one.
  const divided = new Set(rows.filter(({ partition }) => partition > 0).map(row => slotOf(row.bus)))
  return rows
    .filter(({ partition }) => !(partition > 0))
    .map(({ partition: _, ...row }) => ({ ...row, isPartitioned: divided.has(slotOf(row.bus)) }))
}

/**
 * Health by PCI address.
 *
 * @param texts outputs of `amd-smi list --json`, `metric --ecc --power --json` and `bad-pages --pending --json`
 */
export function parseAmdHealth(texts: {
  readonly list: string
  readonly metric: string
  readonly pages: string
}): Map<string, AmdHealth> {
  const buses = new Map((parseEntries(texts.list) ?? []).map(({ gpu, bdf = '' }) => [String(gpu), bdf.toLowerCase()]))
  const found = new Map<string, AmdHealth>()
  const add = (gpu: Entry['gpu'], health: AmdHealth) => {
    const bus = buses.get(String(gpu))
    if (bus) found.set(bus, { ...found.get(bus), ...health })
  }
  for (const { gpu, ecc, power } of parseEntries(texts.metric) ?? []) {
    const status = typeof power === 'object' ? power.throttle_status : undefined
    add(gpu, {
      uncorrectable: numberOf(typeof ecc === 'object' ? ecc.total_uncorrectable_count : undefined),
      isThrottled: status === undefined ? undefined : status === 'THROTTLED',
    })
  }
  // Without pages it is a sentence instead of a list.
  for (const { gpu, pending } of parseEntries(texts.pages) ?? [])
    add(gpu, { hasPendingPages: Array.isArray(pending) && pending.length > 0 })
  return found
}

const Card = z.record(z.string(), z.unknown())

/** @param text output of `rocm-smi --showproductname --showbus --showmeminfo vram --json` */
export function parseRocmSmi(text: string): AmdRow[] {
  const cards = z.record(z.string(), Card).safeParse(parseJson(text)).data ?? {}
  return Object.entries(cards).flatMap(([name, card]) => {
    // Names of fields differ in case: `Card series` and `Card Series`.
    const fields = new Map(Object.entries(card).map(([key, value]) => [key.toLowerCase(), value]))
    const textOf = (key: string) => known(fields.get(key))
    const bus = textOf('pci bus')
    if (!/^card\d+$/.test(name) || bus === undefined) return []
    const memory = Number(textOf('vram total memory (b)') ?? Number.NaN)
    return [
      {
        bus: bus.toLowerCase(),
        model: textOf('card series') ?? textOf('device name'),
        memBytes: Number.isSafeInteger(memory) ? memory : undefined,
      },
    ]
  })
}

function parseJson(text: string): unknown {
  const start = text.search(/^[[{]/m)
  if (start < 0) return undefined
  try {
    return JSON.parse(text.slice(start))
  } catch {
    return undefined
  }
}

const slotOf = (bus: string) => bus.replace(/\.\d+$/, '')

const known = (value: unknown): string | undefined =>
  typeof value === 'string' && !/^(n\/a|unknown|0x[\da-f]+)?$/i.test(value.trim()) ? value.trim() : undefined

function numberOf(amount: z.infer<typeof Amount> | undefined): number | undefined {
  const value = typeof amount === 'object' ? amount.value : amount
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

/** `MB` is 2^20 bytes here: an MI300X of 192 GiB reports 196,592 MB. */
function bytesOf(amount: z.infer<typeof Amount> | undefined): number | undefined {
  const number = numberOf(amount)
  if (number === undefined) return undefined
  return typeof amount === 'object' && amount.unit === 'B' ? number : number * MiB
}
