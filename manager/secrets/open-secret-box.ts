import { AppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { type Store } from '../store/open-store.ts'
import { chooseMasterKeyId, readMasterKeyId, resealAll } from './sealed.ts'
import { createMasterKeys, masterKeyPath, readMasterKeys } from './master-key-file.ts'
import { requireAlone } from './require-alone.ts'
import { createSecretBox, type SecretBox } from './secret-box.ts'

export interface OpenSecretBoxOptions {
  readonly store: Store
  readonly dataDir: string
  /** BERTH_MASTER_KEY_FILE; if left out, DATA/master.key, which the first start creates. */
  readonly file?: string | undefined
  readonly log: Log
  /** A manager that is silent for longer counts as gone. */
  readonly goneMs?: number | undefined
}

/**
 * Opens the secret box of this manager, after a check that its key is the key of the database. If the key of the database is in the file
 * but not the first one, a rotation is pending: everything is encrypted again with the first key, unless another manager is alive, which
 * could then decrypt nothing.
 *
 * @throws AppError `config_invalid` (no such file, not a key), `master_key_mismatch` (not the key of this database), `master_key_in_use`
 */
export async function openSecretBox({ store, dataDir, file, log, goneMs }: OpenSecretBoxOptions): Promise<SecretBox> {
  const path = file ?? masterKeyPath(dataDir)
  const known = await readMasterKeyId(store.db)
  const found = await readMasterKeys(path)
  if (!found && file !== undefined) throw new AppError('config_invalid', { why: `${path} does not exist.` })
  // Only the first start makes a key: a new key could not decrypt existing secrets.
  if (!found && known !== undefined) throw mismatch(path, known, 'The file is missing.')
  const keys = found ?? (await createMasterKeys(path))
  const box = createSecretBox(keys)
  const expected = known ?? (await chooseMasterKeyId(store.db, box.keyId))
  if (expected === undefined || !keys.some(({ id }) => id === expected)) {
    throw mismatch(path, expected ?? 'unknown', `The file holds ${keys.map(({ id }) => id).join(', ')}.`)
  }
  if (expected !== box.keyId) {
    await requireAlone(store.db, goneMs)
    await store.transaction(async trx => {
      await resealAll(trx, box)
      const detail = { from: expected, to: box.keyId }
      await insertAuditRows(trx, [toAuditRow({ action: 'rotateMasterKey', result: 'ok', detail })])
    })
    log.info({ from: expected, to: box.keyId }, 'secrets were sealed again with a new master key')
  }
  return box
}

/**
 * Checks that this manager still has the key of the database: after a rotation to an unknown key, it cannot decrypt any secret. @throws
 * AppError `master_key_mismatch`
 */
export async function requireCurrentKey(store: Store, box: SecretBox): Promise<void> {
  const expected = await readMasterKeyId(store.db)
  if (expected !== undefined && !box.has(expected))
    throw mismatch('its key file', expected, 'Start this manager again.')
}

function mismatch(path: string, expected: string, what: string): AppError {
  const why = `The secrets in the database are encrypted with master key ${expected}, which must be in ${path}. ${what} Put the right key there.`
  return new AppError('master_key_mismatch', { why, keyId: expected })
}
