import { type Db } from '../store/schema.ts'
import { signInProviderContext, SMTP_PASSWORD_CONTEXT, webhookSecretContext, webhookUrlContext } from './sealed.ts'
import { type SecretBox } from './secret-box.ts'

/** Secrets of this installation in plain text, so that they can be found in outgoing data. Secrets of users are not included. */
export async function readKnownSecrets(db: Db, box: SecretBox): Promise<string[]> {
  const [smtp, registries, providers, webhooks] = await Promise.all([
    db.selectFrom('settings').select('value').where('key', '=', 'smtp_password').executeTakeFirst(),
    db.selectFrom('registries').select(['name', 'sealed_password']).execute(),
    db.selectFrom('sign_in_providers').select(['id', 'sealed_secret']).execute(),
    db.selectFrom('webhooks').select(['id', 'sealed_url', 'sealed_secret', 'sealed_old_secret']).execute(),
  ])
  return [
    ...(typeof smtp?.value === 'string' ? [box.open(smtp.value, SMTP_PASSWORD_CONTEXT)] : []),
    ...registries.flatMap(row => (row.sealed_password ? [box.open(row.sealed_password, `registry:${row.name}`)] : [])),
    ...providers.flatMap(row =>
      row.sealed_secret ? [box.open(row.sealed_secret, signInProviderContext(row.id))] : [],
    ),
    ...webhooks.flatMap(row => [
      box.open(row.sealed_url, webhookUrlContext(row.id)),
      box.open(row.sealed_secret, webhookSecretContext(row.id)),
      ...(row.sealed_old_secret === null ? [] : [box.open(row.sealed_old_secret, webhookSecretContext(row.id))]),
    ]),
  ]
}
