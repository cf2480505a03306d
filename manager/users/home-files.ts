import {
  AppError,
  because,
  type BootstrapScript,
  type Dotfile,
  type DotfileSpec,
  MOST_DOTFILE_BYTES,
  MOST_DOTFILES,
  utf8Length,
} from '#manager/contract'
import { bootstrapContext, dotfileContext } from '../secrets/sealed.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  countOtherDotfiles,
  deleteBootstrapScript,
  deleteDotfile,
  putBootstrapScript,
  putDotfile,
} from '../store/identity/home-files.ts'
import { lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Caller } from './authorize.ts'
import { newsOfSet } from './set-by-keypair.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { createStartFiles } from './start-files.ts'
import { type AccountNotifier } from './account-notifier.ts'

/**
 * Files with which the new sessions of a user begin: dotfiles in the home, and a start-up script.
 *
 * Threat model: dotfiles contain tokens (`.netrc`, `.npmrc`), so they are sealed in the database, and only their owner can read them here,
 * regardless of role. A session gets the dotfiles of its owner directly from the manager; requests do not name them. A session that an
 * administrator launched for the owner gets none, because the administrator chose its command and reads its log. Dotfiles and the script
 * run in each new session, so the owner is informed of those that a keypair sets (`set-by-keypair.ts`).
 */
export interface HomeFiles {
  list(caller: Caller): Promise<{ items: Dotfile[] }>
  /** @throws AppError `over_dotfile_limit`, `not_signed_in` (ended meanwhile) */
  put(caller: Caller, spec: DotfileSpec): Promise<Dotfile>
  /** @throws AppError `dotfile_not_found` */
  remove(caller: Caller, path: string): Promise<void>
  script(caller: Caller): Promise<BootstrapScript>
  /** @throws AppError `not_signed_in` (ended meanwhile) */
  setScript(caller: Caller, script: string): Promise<BootstrapScript>
}

export interface HomeFilesDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
}

export function createHomeFiles({ store, box, notifier }: HomeFilesDeps): HomeFiles {
  const { db } = store
  const files = createStartFiles({ store, box })

  return {
    list: async ({ userId }) => ({ items: await files.dotfiles(userId) }),

    async put(caller, { path, content: given, mode }) {
      const content = plainLineBreaks(given)
      const { userId, keypair: set_by_access_key } = caller
      const bytes = utf8Length(content)
      const { changedAt, news } = await store.transaction(async trx => {
        // Locked, so that two simultaneous requests cannot exceed the limit together.
        await lockUser(trx, userId)
        await requireStillSignedIn(trx, caller)
        checkLimits(await countOtherDotfiles(trx, userId, path), bytes)
        const sealed = box.seal(content, dotfileContext(userId, path))
        const changedAt = await putDotfile(trx, { user_id: userId, path, mode, sealed, bytes, set_by_access_key })
        const news = await newsOfSet(trx, caller, 'own_dotfiles_by_keypair', path)
        await notifier.write(trx, news)
        return { changedAt, news }
      })
      await notifier.announce(news)
      return { path, content, mode, changedAt: changedAt.toISOString() }
    },

    async remove({ userId }, path) {
      if (await deleteDotfile(db, userId, path)) return
      throw new AppError('dotfile_not_found', because('dotfile_unknown', { path }))
    },

    script: ({ userId }) => files.script(userId),

    async setScript(caller, given) {
      const script = plainLineBreaks(given)
      const { userId, keypair: set_by_access_key } = caller
      if (script.trim() === '') {
        await deleteBootstrapScript(db, userId)
        return { script: '', changedAt: null }
      }
      const sealed = box.seal(script, bootstrapContext(userId))
      const { changedAt, news } = await store.transaction(async trx => {
        await lockUser(trx, userId)
        await requireStillSignedIn(trx, caller)
        const changedAt = await putBootstrapScript(trx, { user_id: userId, sealed, set_by_access_key })
        const news = await newsOfSet(trx, caller, 'own_script_by_keypair')
        await notifier.write(trx, news)
        return { changedAt, news }
      })
      await notifier.announce(news)
      return { script, changedAt: changedAt.toISOString() }
    },
  }
}

/** The text without the line breaks of Windows, which shells do not understand. */
const plainLineBreaks = (text: string) => text.replaceAll('\r\n', '\n')

/** @throws AppError `over_dotfile_limit` */
function checkLimits(others: { files: number; bytes: number }, bytes: number): void {
  if (others.files + 1 > MOST_DOTFILES) {
    throw new AppError('over_dotfile_limit', because('dotfiles_at_most', { count: MOST_DOTFILES }))
  }
  if (others.bytes + bytes > MOST_DOTFILE_BYTES) {
    const values = { limit: MOST_DOTFILE_BYTES / 1024, others: Math.ceil(others.bytes / 1024) }
    throw new AppError('over_dotfile_limit', because('dotfiles_too_large', values))
  }
}
