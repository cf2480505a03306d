import { randomBytes } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '#manager/contract'
import { MASTER_KEY_BYTES, type MasterKey, toMasterKey } from './secret-box.ts'

export type MasterKeys = readonly [MasterKey, ...MasterKey[]]

export function masterKeyPath(dataDir: string): string {
  return join(dataDir, 'master.key')
}

/**
 * Reads the keys of a file: one per line, base64. The first one encrypts. Undefined if there is no such file.
 *
 * @throws AppError `config_invalid` for a file of another form, or one that other accounts of this computer may read
 */
export async function readMasterKeys(path: string): Promise<MasterKeys | undefined> {
  const refuse = (why: string, cause?: unknown) => new AppError('config_invalid', { why: `${path}: ${why}` }, { cause })
  const mode = await stat(path).then(
    found => found.mode,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined
      throw refuse(error instanceof Error ? error.message : 'cannot be read', error)
    },
  )
  if (mode === undefined) return undefined
  if (process.platform !== 'win32' && (mode & 0o007) !== 0) {
    throw refuse('other accounts on this computer can read this key. Run chmod 600 on the file.')
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw refuse(error instanceof Error ? error.message : 'cannot be read', error)
  })
  const keys = text.split('\n').filter(line => line.trim() !== '')
  const parsed = keys.map(line => Buffer.from(line.trim(), 'base64'))
  const [first, ...others] = parsed
  if (!first || parsed.some(key => key.length !== MASTER_KEY_BYTES)) {
    throw refuse('a master key is 32 random bytes in base64, one key per line.')
  }
  return [toMasterKey(first), ...others.map(toMasterKey)]
}

/** Makes the file, readable by its owner alone. If another process was faster, that process's key is used. */
export async function createMasterKeys(path: string): Promise<MasterKeys> {
  await writeAside(path, [randomBytes(MASTER_KEY_BYTES)], temporary =>
    link(temporary, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    }),
  )
  const keys = await readMasterKeys(path)
  if (!keys) throw new AppError('config_invalid', { why: `${path} disappeared while the manager was starting.` })
  return keys
}

/**
 * Puts a new key before the others of the file. The old ones stay below it, so that secrets can be decrypted after an interrupted rotation,
 * and those of an older backup too.
 *
 * @throws AppError `config_invalid` if there is no such file
 */
export async function addMasterKey(path: string): Promise<{ readonly keyId: string }> {
  const keys = await readMasterKeys(path)
  if (!keys) throw new AppError('config_invalid', { why: `${path} does not exist.` })
  const added = toMasterKey(randomBytes(MASTER_KEY_BYTES))
  await writeMasterKeys(path, [added, ...keys])
  return { keyId: added.id }
}

/** Replaces the file by these keys in one step. */
function writeMasterKeys(path: string, keys: readonly MasterKey[]): Promise<void> {
  return writeAside(
    path,
    keys.map(({ key }) => key),
    temporary => rename(temporary, path),
  )
}

/**
 * Writes the keys to a temporary file and publishes it. The content is synced to disk before the file gets its name, and the name as well:
 * losing the key in a power failure would lose every secret.
 */
async function writeAside(path: string, keys: readonly Buffer[], publish: (temporary: string) => Promise<void>) {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(keys.map(key => `${key.toString('base64')}\n`).join(''))
    await file.sync()
    await publish(temporary)
    await syncDirectory(dirname(path))
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Syncs a directory, so that its names are on disk. Windows cannot open directories. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using directory = await open(path)
  await directory.sync()
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
