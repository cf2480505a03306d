import { type SecretBox } from './secret-box.ts'
import { type Db } from '../store/schema.ts'

const KEY_ID = 'master_key_id'

/** Id of the master key that encrypts the secrets of this database; undefined until the first manager has chosen one. */
export async function readMasterKeyId(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY_ID).executeTakeFirst()
  return typeof row?.value === 'string' ? row.value : undefined
}

/** Stores the id of the master key unless another manager has chosen one. @returns the id in force */
export async function chooseMasterKeyId(db: Db, id: string): Promise<string | undefined> {
  await db
    .insertInto('settings')
    .values({ key: KEY_ID, value: JSON.stringify(id) })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  return readMasterKeyId(db)
}

/** Encrypts all secrets again with the current key of `box`. In a transaction: all of them, or none. */
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

/** Functions that encrypt again, one per column of encrypted secrets; add every new such column here. */
const SEALED: readonly ((trx: Db, box: SecretBox) => Promise<void>)[] = [
  resealKeypairs,
  resealSecondFactors,
  resealSmtpPassword,
  resealManagerKey,
  resealRegistries,
  resealAnswers,
  resealDotfiles,
  resealBootstrapScripts,
  resealSignInProviders,
  resealWebhooks,
]

async function resealKeypairs(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('keypairs').select(['access_key', 'sealed_secret']).forUpdate().execute()
  for (const { access_key, sealed_secret } of rows) {
    const context = `keypair:${access_key}`
    const resealed = box.seal(box.open(sealed_secret, context), context)
    await trx.updateTable('keypairs').set({ sealed_secret: resealed }).where('access_key', '=', access_key).execute()
  }
}

/** Context to which the secret of a user's authenticator app is bound in the secret box. */
export const totpContext = (userId: string) => `totp:${userId}`

async function resealSecondFactors(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx
    .selectFrom('users')
    .select(['id', 'totp_sealed'])
    .where('totp_sealed', 'is not', null)
    .forUpdate()
    .execute()
  for (const { id, totp_sealed } of rows) {
    if (totp_sealed === null) continue
    const resealed = box.seal(box.open(totp_sealed, totpContext(id)), totpContext(id))
    await trx.updateTable('users').set({ totp_sealed: resealed }).where('id', '=', id).execute()
  }
}

export const SMTP_PASSWORD_CONTEXT = 'settings:smtp_password'

async function resealSmtpPassword(trx: Db, box: SecretBox): Promise<void> {
  const row = await trx.selectFrom('settings').select('value').where('key', '=', 'smtp_password').executeTakeFirst()
  if (typeof row?.value !== 'string') return
  const resealed = box.seal(box.open(row.value, SMTP_PASSWORD_CONTEXT), SMTP_PASSWORD_CONTEXT)
  await trx
    .updateTable('settings')
    .set({ value: JSON.stringify(resealed) })
    .where('key', '=', 'smtp_password')
    .execute()
}

const MANAGER_KEY = 'manager_key'
const MANAGER_KEY_PLACE = 'settings:manager_key'
interface SealedManagerKey {
  /** Ed25519, PKCS #8, PEM. */
  readonly sealed: string
}

/** The key with which all managers on this database prove their identity to agents; `make` creates it for the first manager. */
export async function loadManagerKey(db: Db, box: SecretBox, make: () => string): Promise<string> {
  await db
    .insertInto('settings')
    .values({ key: MANAGER_KEY, value: JSON.stringify({ sealed: box.seal(make(), MANAGER_KEY_PLACE) }) })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  const row = await db.selectFrom('settings').select('value').where('key', '=', MANAGER_KEY).executeTakeFirstOrThrow()
  return box.open((row.value as SealedManagerKey).sealed, MANAGER_KEY_PLACE)
}

async function resealManagerKey(trx: Db, box: SecretBox): Promise<void> {
  const row = await trx.selectFrom('settings').select('value').where('key', '=', MANAGER_KEY).executeTakeFirst()
  if (!row) return
  const key = box.open((row.value as SealedManagerKey).sealed, MANAGER_KEY_PLACE)
  await trx
    .updateTable('settings')
    .set({ value: JSON.stringify({ sealed: box.seal(key, MANAGER_KEY_PLACE) }) })
    .where('key', '=', MANAGER_KEY)
    .execute()
}

async function resealRegistries(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('registries').select(['name', 'sealed_password']).forUpdate().execute()
  for (const { name, sealed_password } of rows) {
    if (sealed_password === null) continue
    const context = `registry:${name}`
    const resealed = box.seal(box.open(sealed_password, context), context)
    await trx.updateTable('registries').set({ sealed_password: resealed }).where('name', '=', name).execute()
  }
}

/** Context to which the answer to a request with an idempotency key is bound in the secret box. */
export const idempotencyContext = (userId: string, key: string) => `idempotency:${userId}:${key}`

async function resealAnswers(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('idempotency_keys').select(['user_id', 'key', 'sealed']).forUpdate().execute()
  for (const { user_id, key, sealed } of rows) {
    const context = idempotencyContext(user_id, key)
    const resealed = box.seal(box.open(sealed, context), context)
    await trx
      .updateTable('idempotency_keys')
      .set({ sealed: resealed })
      .where('user_id', '=', user_id)
      .where('key', '=', key)
      .execute()
  }
}

/** Context to which a dotfile of a user is bound in the secret box. */
export const dotfileContext = (userId: string, path: string) => `dotfile:${userId}:${path}`

async function resealDotfiles(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('dotfiles').select(['user_id', 'path', 'sealed']).forUpdate().execute()
  for (const { user_id, path, sealed } of rows) {
    const context = dotfileContext(user_id, path)
    const resealed = box.seal(box.open(sealed, context), context)
    await trx
      .updateTable('dotfiles')
      .set({ sealed: resealed })
      .where('user_id', '=', user_id)
      .where('path', '=', path)
      .execute()
  }
}

/** Context to which the start-up script of a user is bound in the secret box. */
export const bootstrapContext = (userId: string) => `bootstrap-script:${userId}`

async function resealBootstrapScripts(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx.selectFrom('bootstrap_scripts').select(['user_id', 'sealed']).forUpdate().execute()
  for (const { user_id, sealed } of rows) {
    const context = bootstrapContext(user_id)
    const resealed = box.seal(box.open(sealed, context), context)
    await trx.updateTable('bootstrap_scripts').set({ sealed: resealed }).where('user_id', '=', user_id).execute()
  }
}

/** Context to which the client secret of a sign-in provider is bound in the secret box. */
export const signInProviderContext = (id: string) => `sign-in-provider:${id}`

async function resealSignInProviders(trx: Db, box: SecretBox): Promise<void> {
  // These secrets live only ten minutes, so delete them: people start again.
  await trx.deleteFrom('sign_in_attempts').execute()
  const rows = await trx.selectFrom('sign_in_providers').select(['id', 'sealed_secret']).forUpdate().execute()
  for (const { id, sealed_secret } of rows) {
    if (sealed_secret === null) continue
    const context = signInProviderContext(id)
    const resealed = box.seal(box.open(sealed_secret, context), context)
    await trx.updateTable('sign_in_providers').set({ sealed_secret: resealed }).where('id', '=', id).execute()
  }
}

/** Contexts to which the address and the secrets of a webhook are bound in the secret box. */
export const webhookUrlContext = (id: string) => `webhook-url:${id}`
export const webhookSecretContext = (id: string) => `webhook-secret:${id}`

async function resealWebhooks(trx: Db, box: SecretBox): Promise<void> {
  const rows = await trx
    .selectFrom('webhooks')
    .select(['id', 'sealed_url', 'sealed_secret', 'sealed_old_secret'])
    .forUpdate()
    .execute()
  for (const { id, ...sealed } of rows) {
    const [ofUrl, ofSecret] = [webhookUrlContext(id), webhookSecretContext(id)]
    const again = (text: string, context: string) => box.seal(box.open(text, context), context)
    await trx
      .updateTable('webhooks')
      .set({
        sealed_url: again(sealed.sealed_url, ofUrl),
        sealed_secret: again(sealed.sealed_secret, ofSecret),
        sealed_old_secret: sealed.sealed_old_secret === null ? null : again(sealed.sealed_old_secret, ofSecret),
      })
      .where('id', '=', id)
      .execute()
  }
}
