import { type Db } from '../schema.ts'

const KEYS = { system: 'system', smtpPassword: 'smtp_password', changes: 'system_changes' } as const

/** Settings as they were stored, perhaps by another version of Berth: the reader must validate them. */
export interface KeptSettings {
  readonly system: unknown
  /** SMTP password, sealed with the context `settings:smtp_password`. */
  readonly smtpPassword: string | null
  /** Author and time of the last change of each setting. */
  readonly changes: unknown
}

export async function readSystemSettings(db: Db): Promise<KeptSettings> {
  const rows = await db.selectFrom('settings').selectAll().where('key', 'in', Object.values(KEYS)).execute()
  const valueOf = (key: string) => rows.find(row => row.key === key)?.value
  const password = valueOf(KEYS.smtpPassword)
  return {
    system: valueOf(KEYS.system) ?? {},
    smtpPassword: typeof password === 'string' ? password : null,
    changes: valueOf(KEYS.changes) ?? {},
  }
}

/** Locks the settings: nobody else changes them until the transaction ends. */
export async function holdSystemSettings(trx: Db): Promise<void> {
  await trx
    .insertInto('settings')
    .values({ key: KEYS.system, value: '{}' })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  await trx.selectFrom('settings').select('key').where('key', '=', KEYS.system).forUpdate().execute()
}

/** @param written `smtpPassword`: sealed; null removes it, undefined leaves it */
export async function writeSystemSettings(
  trx: Db,
  { system, changes, smtpPassword }: { system: object; changes: object; smtpPassword?: string | null | undefined },
): Promise<void> {
  await put(trx, KEYS.system, JSON.stringify(system))
  await put(trx, KEYS.changes, JSON.stringify(changes))
  if (smtpPassword === null) await trx.deleteFrom('settings').where('key', '=', KEYS.smtpPassword).execute()
  else if (smtpPassword !== undefined) await put(trx, KEYS.smtpPassword, JSON.stringify(smtpPassword))
}

async function put(trx: Db, key: string, value: string): Promise<void> {
  await trx
    .insertInto('settings')
    .values({ key, value })
    .onConflict(conflict => conflict.column('key').doUpdateSet({ value }))
    .execute()
}
