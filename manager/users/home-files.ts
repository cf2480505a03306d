import {
  AppError,
  because,
  type BootstrapScript,
  type Dotfile,
  type DotfileSpec,
  MOST_DOTFILE_BYTES,
  MOST_DOTFILES,
  type UserId,
  utf8Length,
} from '#manager/contract'
import { bootstrapPlace, dotfilePlace } from '../secrets/sealed.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  countOtherDotfiles,
  deleteBootstrapScript,
  deleteDotfile,
  findBootstrapScript,
  listDotfiles,
  putBootstrapScript,
  putDotfile,
} from '../store/identity/home-files.ts'
import { lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Caller } from './authorize.ts'

/** Dotfiles and start-up script as a new session gets them. */
export interface SessionStartFiles {
  readonly dotfiles: readonly Pick<Dotfile, 'path' | 'content' | 'mode'>[]
  /** Empty if there is none. */
  readonly bootstrapScript: string
}

/**
 * Files that the new sessions of a user begin with: dotfiles in the home, and a start-up script.
 *
 * Threat model: dotfiles hold tokens (`.netrc`, `.npmrc`), so they are sealed in the database, and nobody but their owner reads
 * them here, whatever the role. A session gets those of its owner, from the manager alone: no request names them. A session that an
 * administrator launched for the owner gets none, because the administrator chose its command and reads its log.
 */
export interface HomeFiles {
  list(caller: Caller): Promise<{ items: Dotfile[] }>
  /** @throws AppError `over_dotfile_limit` */
  put(caller: Caller, spec: DotfileSpec): Promise<Dotfile>
  /** @throws AppError `dotfile_not_found` */
  remove(caller: Caller, path: string): Promise<void>
  script(caller: Caller): Promise<BootstrapScript>
  setScript(caller: Caller, script: string): Promise<BootstrapScript>
  /** For a session that starts; nothing for one that an administrator launched for its owner. */
  of(session: { readonly owner_id: UserId; readonly launched_by: string | null }): Promise<SessionStartFiles>
}

export function createHomeFiles({ store, box }: { store: Store; box: SecretBox }): HomeFiles {
  const { db } = store

  async function filesOf(userId: UserId): Promise<Dotfile[]> {
    const rows = await listDotfiles(db, userId)
    return rows.map(({ path, mode, sealed, changed_at }) => ({
      path,
      mode,
      content: box.open(sealed, dotfilePlace(userId, path)),
      changedAt: changed_at.toISOString(),
    }))
  }

  async function scriptOf(userId: UserId): Promise<BootstrapScript> {
    const row = await findBootstrapScript(db, userId)
    if (!row) return { script: '', changedAt: null }
    return { script: box.open(row.sealed, bootstrapPlace(userId)), changedAt: row.changed_at.toISOString() }
  }

  return {
    list: async ({ userId }) => ({ items: await filesOf(userId) }),

    async put({ userId }, { path, content, mode }) {
      const bytes = utf8Length(content)
      const changedAt = await store.transaction(async trx => {
        // Locked, so that two requests at once do not both find room for themselves.
        await lockUser(trx, userId)
        checkLimits(await countOtherDotfiles(trx, userId, path), bytes)
        const sealed = box.seal(content, dotfilePlace(userId, path))
        return putDotfile(trx, { user_id: userId, path, mode, sealed, bytes })
      })
      return { path, content, mode, changedAt: changedAt.toISOString() }
    },

    async remove({ userId }, path) {
      if (await deleteDotfile(db, userId, path)) return
      throw new AppError('dotfile_not_found', because('dotfile_unknown', { path }))
    },

    script: ({ userId }) => scriptOf(userId),

    async setScript({ userId }, script) {
      if (script.trim() === '') {
        await deleteBootstrapScript(db, userId)
        return { script: '', changedAt: null }
      }
      const changedAt = await putBootstrapScript(db, userId, box.seal(script, bootstrapPlace(userId)))
      return { script, changedAt: changedAt.toISOString() }
    },

    async of({ owner_id: userId, launched_by }) {
      if (launched_by !== null) return { dotfiles: [], bootstrapScript: '' }
      const [dotfiles, { script: bootstrapScript }] = await Promise.all([filesOf(userId), scriptOf(userId)])
      return { dotfiles: dotfiles.map(({ path, content, mode }) => ({ path, content, mode })), bootstrapScript }
    },
  }
}

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
