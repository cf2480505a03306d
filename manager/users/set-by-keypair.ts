import { inShort, MOST_DOTFILES, type AccountNewsKind } from '#manager/contract'
import { findKeypairs, type KeypairRow } from '../store/identity/keypairs.ts'
import { listLaunchedWith, listMadeSince } from '../store/identity/made-since.ts'
import { listSetByKeypair, wasToldToday } from '../store/identity/set-by-keypair.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from './authorize.ts'
import { type News } from './account-notifier.ts'

/**
 * Start-up script, dotfiles and SSH key that a keypair has set, and sessions that it has launched, told to the person.
 *
 * Threat: whoever has stolen a keypair leaves something that runs in each new session, or opens it, and stays when the keypair
 * ends. So the person is told when such a thing is set with one, and again of all that is still set when the keypair ends, in
 * whatever way: deactivated or deleted by somebody, or with a role, a domain or a first link (`end-keypairs.ts`). Its sessions go on as well, with the person's
 * folders and dotfiles, and are named then. Programs that set the same thing again and again tell of it once a day: each dotfile by its path, so that a harmless one hides no other.
 */
export type SetByKeypairKind = Extract<AccountNewsKind, `own_${string}_by_keypair`>

/** News of one thing that the caller has set. @param path of a dotfile. Runs in the transaction that sets it, with the account locked */
export async function newsOfSet(
  trx: Db,
  { userId, email, keypair }: Pick<Caller, 'userId' | 'email' | 'keypair'>,
  kind: SetByKeypairKind,
  path?: string,
): Promise<News[]> {
  if (keypair === null) return []
  const detail = path === undefined ? keypair : namesWith(keypair, [path])
  if (await wasToldToday(trx, userId, { kind, accessKey: keypair, detail, most: MOST_DOTFILES })) return []
  return [{ userId, by: { userId, email }, kind, detail }]
}

/**
 * News of all that was set with keypairs and outlives them, and of what was made since the first of them was activated: nothing notes with
 * which key. Own folders with a dot are named whenever they were made, because each new session mounts them.
 *
 * Runs with the keypairs or their owner locked, and before they are deleted.
 *
 * @param accessKeys keypairs of one owner
 */
export async function newsOfRemains(trx: Db, accessKeys: readonly string[]): Promise<News[]> {
  const keypairs = await findKeypairs(trx, accessKeys)
  const news: News[] = []
  for (const keypair of keypairs) news.push(...(await newsOfSetBy(trx, keypair)))
  // A keypair that its person has not accepted has opened nothing.
  const first = keypairs.find(({ waits }) => !waits)
  return first ? [...news, ...(await newsOfMadeSince(trx, first))] : news
}

async function newsOfSetBy(trx: Db, { access_key: accessKey, user_id: userId, email }: KeypairRow): Promise<News[]> {
  const { dotfiles, hasScript, hasSshKey } = await listSetByKeypair(trx, userId, accessKey)
  const launched = await listLaunchedWith(trx, accessKey)
  const named = namesWith(accessKey, launched.names, launched.total)
  const by = { userId, email }
  return [
    ...(launched.total > 0
      ? [{ userId, by, kind: 'own_sessions_by_keypair', detail: named, sessions: launched.sessions } as const]
      : []),
    ...(hasScript ? [{ userId, by, kind: 'own_script_by_keypair', detail: accessKey } as const] : []),
    ...(dotfiles.length > 0
      ? [{ userId, by, kind: 'own_dotfiles_by_keypair', detail: namesWith(accessKey, dotfiles) } as const]
      : []),
    ...(hasSshKey ? [{ userId, by, kind: 'own_ssh_key_by_keypair', detail: accessKey } as const] : []),
  ]
}

async function newsOfMadeSince(
  trx: Db,
  { user_id: userId, email, access_key, activated_at }: KeypairRow,
): Promise<News[]> {
  const { folders, images, templates, shares, links } = await listMadeSince(trx, userId, activated_at)
  const kinds = [folders, images, templates, shares, links]
  const [first, ...others] = kinds.flatMap(({ names }) => names)
  if (first === undefined) return []
  const total = kinds.reduce((sum, kind) => sum + kind.total, 0)
  const detail = inShort([`${access_key}: ${first}`, ...others], total)
  return [{ userId, by: { userId, email }, kind: 'own_made_since_keypair', detail }]
}

/** `AKIA…: .bashrc, .zshrc` */
function namesWith(accessKey: string, names: readonly string[], total = names.length): string {
  const [first = '', ...others] = names
  return inShort([`${accessKey}: ${first}`, ...others], total)
}
