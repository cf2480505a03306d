import { inShort, MOST_DOTFILES, type AccountNewsKind } from '#manager/contract'
import { findKeypairs, type KeypairRow } from '../store/identity/keypairs.ts'
import { listLaunchedWith, listMadeSince } from '../store/identity/made-since.ts'
import { listSetByKeypair, wasToldToday } from '../store/identity/set-by-keypair.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from './authorize.ts'
import { type News } from './account-notifier.ts'

/**
 * Messages to the person about the start-up script, dotfiles and SSH key that a keypair has set, and the sessions that it has launched.
 *
 * Threat: somebody who has stolen a keypair leaves something that runs in each new session, or gives access to it, and stays after the
 * keypair ends. So the person is informed when such a thing is set with a keypair, and again of everything still set when the keypair ends
 * for any reason: deactivated or deleted by somebody, or with a role, a domain or a first link (`end-keypairs.ts`). Its sessions also
 * continue, with the person's folders and dotfiles, and are listed then. For programs that set the same thing repeatedly, there is one
 * message a day: for dotfiles one per path, so that a harmless file does not hide another.
 */
export type SetByKeypairKind = Extract<AccountNewsKind, `own_${string}_by_keypair`>

/**
 * Message about one thing that the caller has set. @param path of a dotfile. Runs in the transaction that sets it, with the account locked
 */
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
 * Messages about all things that were set with keypairs and outlive them, and about things created since the first of these keypairs was
 * activated, because their keypair is not recorded. Own folders with a leading dot are listed regardless of age, because each new session
 * mounts them.
 *
 * Runs with the keypairs or their owner locked, and before they are deleted.
 *
 * @param accessKeys keypairs of one owner
 */
export async function newsOfRemains(trx: Db, accessKeys: readonly string[]): Promise<News[]> {
  const keypairs = await findKeypairs(trx, accessKeys)
  const news: News[] = []
  for (const keypair of keypairs) news.push(...(await newsOfSetBy(trx, keypair)))
  // A keypair that its owner has not accepted was never usable.
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
