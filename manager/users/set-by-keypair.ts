import { inShort, type ToldKind } from '#manager/contract'
import { listSetByKeypair, wasToldToday } from '../store/identity/set-by-keypair.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from './authorize.ts'
import { type News } from './telling.ts'

/**
 * Start-up script, dotfiles and SSH key that a keypair has set, told to the person.
 *
 * Threat: whoever has stolen a keypair leaves something that runs in each new session, or opens it, and stays when the keypair
 * ends. So the person is told when such a thing is set with one, and again of all that still stands when the keypair is deactivated or
 * deleted. Programs that set the same thing again and again tell of it once a day, with the first one: the end names all.
 */
export type SetByKeypairKind = Extract<ToldKind, `own_${string}_by_keypair`>

/** News of one thing that the caller has set. @param path of a dotfile. Runs in the transaction that sets it, with the account locked */
export async function newsOfSet(
  trx: Db,
  { userId, email, keypair }: Pick<Caller, 'userId' | 'email' | 'keypair'>,
  kind: SetByKeypairKind,
  path?: string,
): Promise<News[]> {
  if (keypair === null || (await wasToldToday(trx, userId, kind, keypair))) return []
  return [{ userId, by: { userId, email }, kind, detail: path === undefined ? keypair : namesWith(keypair, [path]) }]
}

/** News of all that was set with a keypair and outlives it. */
export async function newsOfRemains(
  trx: Db,
  { id: userId, email }: Pick<UserRow, 'id' | 'email'>,
  accessKey: string,
): Promise<News[]> {
  const { dotfiles, hasScript, hasSshKey } = await listSetByKeypair(trx, userId, accessKey)
  const by = { userId, email }
  return [
    ...(hasScript ? [{ userId, by, kind: 'own_script_by_keypair', detail: accessKey } as const] : []),
    ...(dotfiles.length > 0
      ? [{ userId, by, kind: 'own_dotfiles_by_keypair', detail: namesWith(accessKey, dotfiles) } as const]
      : []),
    ...(hasSshKey ? [{ userId, by, kind: 'own_ssh_key_by_keypair', detail: accessKey } as const] : []),
  ]
}

/** `AKIA…: .bashrc, .zshrc` */
function namesWith(accessKey: string, [first = '', ...others]: readonly string[]): string {
  return inShort([`${accessKey}: ${first}`, ...others], others.length + 1)
}
