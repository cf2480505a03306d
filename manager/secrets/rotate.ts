import { type Log } from '../log.ts'
import { openStore } from '../store/open-store.ts'
import { addMasterKey, masterKeyPath } from './master-key-file.ts'
import { openSecretBox } from './open-secret-box.ts'
import { requireAlone } from './require-alone.ts'

export interface Rotation {
  /** Id of the key that encrypts from now on. */
  readonly keyId: string
  /** Key file, absolute. */
  readonly file: string
}

export interface RotateOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  /** BERTH_MASTER_KEY_FILE; if left out, DATA/master.key. */
  readonly file?: string | undefined
  readonly log: Log
  /** A manager that is silent for longer counts as gone. */
  readonly goneMs?: number | undefined
}

/**
 * Makes a new master key and encrypts every secret with it, while no manager runs. After an interruption all secrets can still be
 * decrypted: the next start of a manager finishes the work.
 *
 * @throws AppError `master_key_in_use` (a manager runs), `data_dir_locked` (the same, with the embedded database), `config_invalid` (no key
 *   file), `master_key_mismatch` (not the key of this database)
 */
export async function rotateMasterKey({ dataDir, databaseUrl, file, log, goneMs }: RotateOptions): Promise<Rotation> {
  const path = file ?? masterKeyPath(dataDir)
  await using store = await openStore({ dataDir, databaseUrl, log, isPatient: true })
  await requireAlone(store.db, goneMs)
  // Refuse a key file that does not belong to this database before a new key is added to it.
  await openSecretBox({ store, dataDir, file: path, log, goneMs })
  await addMasterKey(path)
  const { keyId } = await openSecretBox({ store, dataDir, file: path, log, goneMs })
  return { keyId, file: path }
}
