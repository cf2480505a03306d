import { chmod, mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '#manager/contract/light'

/**
 * Writes a file of the user only (0600 in a 0700 directory): readers see the old or the new content.
 *
 * @throws AppError `config_invalid` if the directory cannot be made, or the file not be written
 */
export async function replaceFile(file: string, content: string): Promise<void> {
  try {
    await makeDirectory(dirname(file))
    const part = `${file}.${process.pid}`
    await writeFile(part, content, { mode: 0o600 })
    await chmod(part, 0o600)
    await rename(part, file)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    const why = `${file} cannot be written (${said}). Set BERTH_CONFIG_DIR to a directory in which you may write.`
    throw new AppError('config_invalid', { why }, { cause: error })
  }
}

/**
 * Makes the missing directories, one after the other. The recursive form of Node tries for ever below an automounter, which has the
 * directory above and lets nobody make one in it.
 */
async function makeDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined)
  if (found?.isDirectory()) return
  const above = dirname(directory)
  if (above !== directory) await makeDirectory(above)
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    // Another process may have made it meanwhile; a file in its place fails where the file is written.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  })
}
