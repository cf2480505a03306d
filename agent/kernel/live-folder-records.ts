import { mkdir, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { KernelFolder } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { putFile } from './put-file.ts'

const Records = z.array(KernelFolder)

/** The directory of folders that are added to running kernels, and the record of what was asked for each kernel (`live-folders.ts`). */
export interface LiveFolderRecords {
  /** The kernel's directory, or a path below it. Without links, as in mountinfo. */
  readonly placeOf: (kernelId: string, ...rest: string[]) => Promise<string>
  readonly recordPath: (kernelId: string) => Promise<string>
  readonly readRecords: (kernelId: string) => Promise<KernelFolder[]>
  readonly writeRecords: (kernelId: string, records: readonly KernelFolder[]) => Promise<void>
}

/** @param directory DATA/agent, absolute */
export function createLiveFolderRecords(directory: string): LiveFolderRecords {
  let root: Promise<string> | undefined

  /** Resolved path without links, as in mountinfo. */
  function base(): Promise<string> {
    root ??= makeBase(join(directory, 'mounts')).catch((error: unknown) => {
      root = undefined
      throw error
    })
    return root
  }
  const placeOf = async (kernelId: string, ...rest: string[]) => join(await base(), kernelId, ...rest)
  const recordPath = async (kernelId: string) => join(await base(), `${kernelId}.json`)

  async function readRecords(kernelId: string): Promise<KernelFolder[]> {
    const text = await readFile(await recordPath(kernelId), 'utf8').catch(() => '[]')
    return Records.safeParse(parseJson(text)).data ?? []
  }

  const writeRecords = async (kernelId: string, records: readonly KernelFolder[]) =>
    putFile(await recordPath(kernelId), JSON.stringify(records), { mode: 0o600 })

  return { placeOf, recordPath, readRecords, writeRecords }
}

const NOTICE = `Do not remove this directory while sessions run: the folders in it are the users' own files, mounted here,
and removing one removes the files, also with rm --one-file-system.
"findmnt -l | grep /mounts/" shows what is mounted. How to remove an agent: docs/admin/agents.md.
`

async function makeBase(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o711 })
  // Folders can also be mounted without it.
  await putFile(join(path, 'README'), NOTICE, { mode: 0o644 }).catch(() => undefined)
  return realpath(path)
}
