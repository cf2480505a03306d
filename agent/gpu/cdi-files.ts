import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { GPU_KIND } from '#agent/contract'

const Device = z.object({
  name: z.string(),
  containerEdits: z.object({ deviceNodes: z.array(z.object({ path: z.string() })).nullish() }).nullish(),
})
const Spec = z.object({ kind: z.string(), devices: z.array(Device).default([]) })

/** A device of a specification file, with its device files. */
export interface CdiDevice {
  readonly name: string
  /** Paths in the container. */
  readonly files: readonly string[]
}

/**
 * Names of the GPUs in the specification files of these directories, for an engine that uses CDI and does not list its devices
 * (API before 1.50). A file that cannot be read is left out, as the engine leaves it out.
 *
 * @see https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
 */
export async function readCdiNames(directories: readonly string[]): Promise<string[]> {
  const found = await readCdiDevices(directories, GPU_KIND)
  return [...new Set(found.map(({ name }) => name))].filter(name => name !== 'all')
}

/** The devices of this kind in the specification files of these directories. */
export async function readCdiDevices(directories: readonly string[], kind: string): Promise<CdiDevice[]> {
  return (await Promise.all(directories.map(directory => readDirectory(directory, kind)))).flat()
}

async function readDirectory(directory: string, kind: string): Promise<CdiDevice[]> {
  const files = await readdir(directory).catch(() => [])
  const specs = files.filter(file => /\.(json|yaml)$/.test(file)).map(file => readSpec(join(directory, file), kind))
  return (await Promise.all(specs)).flat()
}

async function readSpec(path: string, kind: string): Promise<CdiDevice[]> {
  try {
    // JSON is YAML too.
    const spec = Spec.parse(parse(await readFile(path, 'utf8')))
    if (spec.kind !== kind) return []
    return spec.devices.map(({ name, containerEdits }) => ({
      name,
      files: (containerEdits?.deviceNodes ?? []).map(node => node.path),
    }))
  } catch {
    return []
  }
}
