import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { longestMount } from '#base/mount-info'
import { type SessionFiles } from '../facts.ts'

/** Looks at directories below which sessions own files. Those that are missing, or that the caller may not see, are left out. */
export async function probeSessionFiles(
  paths: readonly string[],
  mountinfo = () => readFile('/proc/self/mountinfo', 'utf8').catch(() => ''),
): Promise<SessionFiles[]> {
  const mounts = await mountinfo()
  const found = await Promise.all(
    paths.map(async path => {
      // As the kernel walks it: a link may lead elsewhere.
      const real = await realpath(path).catch(() => undefined)
      if (real === undefined) return []
      const hasNosuid = longestMount(mounts, real)?.flags.includes('nosuid') ?? false
      return [{ path, isOpen: await areAllSearchable(real), hasNosuid }]
    }),
  )
  return found.flat()
}

/** Whether users other than the owner may pass through a directory and all directories above it. */
async function areAllSearchable(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & 0o011) === 0) return false
  return dirname(path) === path || (await areAllSearchable(dirname(path)))
}
