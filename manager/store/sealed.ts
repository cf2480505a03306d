import { type SecretBox } from '../secrets/secret-box.ts'
import { type Db } from './schema.ts'

const KEY_ID = 'master_key_id'

/** Which master key the secrets of this database are sealed with; undefined before the first manager chose one. */
export async function readMasterKeyId(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY_ID).executeTakeFirst()
  return typeof row?.value === 'string' ? row.value : undefined
}

/** Unless another manager chose one before. @returns the one that holds */
export async function chooseMasterKeyId(db: Db, id: string): Promise<string | undefined> {
  await db
    .insertInto('settings')
    .values({ key: KEY_ID, value: JSON.stringify(id) })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  return readMasterKeyId(db)
}

/** Seals everything again with the current key of `box`. In a transaction: all of it, or nothing. */
export async function resealAll(trx: Db, box: SecretBox): Promise<void> {
  // Held until the end, so that two managers do not rotate at once.
  await trx.selectFrom('settings').select('key').where('key', '=', KEY_ID).forUpdate().execute()
  for (const reseal of SEALED) await reseal(trx, box)
  await trx
    .updateTable('settings')
    .set({ value: JSON.stringify(box.keyId) })
    .where('key', '=', KEY_ID)
    .execute()
}

/** One entry per column that holds sealed secrets; whoever adds such a column adds it here. */
const SEALED: readonly ((trx: Db, box: SecretBox) => Promise<void>)[] = [resealKeypairs]

async function resealKeypairs(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('keypairs').select(['access_key', 'sealed_secret']).forUpdate().execute()
  for (const { access_key, sealed_secret } of rows) {
    const place = `keypair:${access_key}`
    const resealed = box.seal(box.open(sealed_secret, place), place)
    await trx.updateTable('keypairs').set({ sealed_secret: resealed }).where('access_key', '=', access_key).execute()
  }
}
