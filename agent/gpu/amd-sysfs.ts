import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A GPU as the driver amdgpu describes it in sysfs. */
export interface AmdDevice {
  /** PCI address: `0000:c1:00.0`. */
  readonly bus: string
  /** Number of the chip, 16 hexadecimal digits; undefined if the driver does not tell it. */
  readonly uniqueId?: string | undefined
  /** Name of the product, which servers' cards have. */
  readonly product?: string | undefined
  /** 0 if not known. */
  readonly memBytes: number
  /** Name of its device file in /dev/dri: `renderD128`. */
  readonly render?: string | undefined
  /** Id in the interface for computing (KFD), decimal; undefined if it has none. */
  readonly kfd?: string | undefined
}

export interface AmdUse {
  /** Percent; null if not known. */
  readonly utilization: number | null
  readonly memBytes: number | null
}

/** Reads what the driver tells about its GPUs in sysfs: files, without a program that could hang. Works without ROCm on the host. */
export interface AmdSysfs {
  list(): Promise<readonly AmdDevice[]>
  use(bus: string): Promise<AmdUse>
  /** Bytes of GPU memory by process id of the host, for one GPU. Undefined where the driver lists no processes. */
  processes(kfd: string): Promise<ReadonlyMap<number, number> | undefined>
}

/** @param root of sysfs */
export function createAmdSysfs(root = '/sys'): AmdSysfs {
  const driver = join(root, 'bus/pci/drivers/amdgpu')
  const kfdRoot = join(root, 'class/kfd/kfd')
  const read = async (...path: string[]) => (await readFile(join(...path), 'utf8').catch(() => '')).trim()
  const numberIn = async (...path: string[]) => {
    const text = await read(...path)
    return /^\d+$/.test(text) ? Number(text) : null
  }

  /** Id in KFD, by number of the file in /dev/dri. */
  async function readKfd(): Promise<ReadonlyMap<string, string>> {
    const nodes = await readdir(join(kfdRoot, 'topology/nodes')).catch(() => [])
    const found = await Promise.all(
      nodes.map(async node => {
        const path = join(kfdRoot, 'topology/nodes', node)
        const [id, properties] = await Promise.all([read(path, 'gpu_id'), read(path, 'properties')])
        const minor = /^drm_render_minor (\d+)$/m.exec(properties)?.[1]
        // A processor is a node too, with the id 0.
        return /^[1-9]\d*$/.test(id) && minor !== undefined ? [[minor, id] as const] : []
      }),
    )
    return new Map(found.flat())
  }

  return {
    async list() {
      const names = await readdir(driver).catch(() => [])
      const buses = names.filter(name => /^[\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.\d$/i.test(name)).toSorted()
      if (buses.length === 0) return []
      const kfd = await readKfd()
      return await Promise.all(
        buses.map(async (bus): Promise<AmdDevice> => {
          const [id, product, memBytes, files] = await Promise.all([
            read(driver, bus, 'unique_id'),
            read(driver, bus, 'product_name'),
            numberIn(driver, bus, 'mem_info_vram_total'),
            readdir(join(driver, bus, 'drm')).catch(() => []),
          ])
          const render = files.find(name => /^renderD\d+$/.test(name))
          return {
            bus: bus.toLowerCase(),
            uniqueId: /^[\da-f]{1,16}$/i.test(id) && !/^0+$/.test(id) ? id.toLowerCase().padStart(16, '0') : undefined,
            product: product === '' ? undefined : product,
            memBytes: memBytes ?? 0,
            render,
            kfd: kfd.get(render?.slice('renderD'.length) ?? ''),
          }
        }),
      )
    },
    async use(bus) {
      // Files are read one after the other: a driver that hangs may keep a read for ever, and with it one of Node's few threads for files.
      const utilization = await numberIn(driver, bus, 'gpu_busy_percent')
      return { utilization, memBytes: await numberIn(driver, bus, 'mem_info_vram_used') }
    },
    async processes(kfd) {
      const names = await readdir(join(kfdRoot, 'proc')).catch(() => undefined)
      if (!names) return undefined
      const pids = names.filter(name => /^\d+$/.test(name))
      const found = await Promise.all(
        pids.map(async pid => [Number(pid), await numberIn(kfdRoot, 'proc', pid, `vram_${kfd}`)] as const),
      )
      return new Map(found.flatMap(([pid, bytes]) => (bytes === null ? [] : [[pid, bytes] as const])))
    },
  }
}
