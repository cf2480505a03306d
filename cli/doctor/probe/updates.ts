import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAppError } from '#manager/contract'
import { fetchByEnvironment } from '#proxy/network'
import { checkForUpdate, updateSourceOf } from '#proxy/updates'
import { type UpdateFacts } from '../facts.ts'

/** Looks into the signed list of versions, if this package names one. Downloads and changes nothing. */
export async function checkUpdates(
  packageFile = join(import.meta.dirname, '../../../package.json'),
): Promise<UpdateFacts> {
  const about = JSON.parse(await readFile(packageFile, 'utf8')) as { readonly version: string }
  const { version } = about
  const source = updateSourceOf(about)
  if (!source) return { status: 'off', version }
  try {
    const found = await checkForUpdate(source, { version, serial: 0, now: new Date() }, fetchByEnvironment)
    return found.isNewer ? { status: 'newer', version, newer: found.manifest.version } : { status: 'newest', version }
  } catch (error) {
    return { status: 'unknown', version, why: isAppError(error) ? error.message : String(error) }
  }
}
