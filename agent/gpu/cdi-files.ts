import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { GPU_KIND } from '#agent/contract'

const Spec = z.object({ kind: z.string(), devices: z.array(z.object({ name: z.string() })).default([]) })

/**
 * Names of the GPUs in the specification files of these directories, for an engine that uses CDI and does not list its devices
 * (API before 1.50). A file that cannot be read is left out, as the engine leaves it out.
 *
 * @see https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
 */
export async function readCdiNames(directories: readonly string[]): Promise<string[]> {
  const found = await Promise.all(directories.map(readDirectory))
  return [...new Set(found.flat())].filter(name => name !== 'all')
}

async function readDirectory(directory: string): Promise<string[]> {
  const files = await readdir(directory).catch(() => [])
  const specs = files.filter(file => /\.(json|yaml)$/.test(file)).map(file => readSpec(join(directory, file)))
  return (await Promise.all(specs)).flat()
}

async function readSpec(path: string): Promise<string[]> {
  try {
    // JSON is YAML too.
    const { kind, devices } = Spec.parse(parse(await readFile(path, 'utf8')))
    return kind === GPU_KIND ? devices.map(({ name }) => name) : []
  } catch {
    return []
  }
}
