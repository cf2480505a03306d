import { type BootstrapScript, type Dotfile, type UserId } from '#manager/contract'
import { bootstrapContext, dotfileContext } from '../secrets/sealed.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { findBootstrapScript, listDotfiles } from '../store/identity/home-files.ts'
import { type Store } from '../store/open-store.ts'

/** Dotfiles and start-up script as a new session gets them. */
export interface SessionStartFiles {
  readonly dotfiles: readonly Pick<Dotfile, 'path' | 'content' | 'mode'>[]
  /** Empty if there is none. */
  readonly bootstrapScript: string
}

/** Reads and decrypts the files with which the new sessions of a user begin (`home-files.ts` has their rules). */
export interface StartFiles {
  dotfiles(userId: UserId): Promise<Dotfile[]>
  script(userId: UserId): Promise<BootstrapScript>
  /** Files for a session that starts; none for one that an administrator launched for its owner, or an access token. */
  of(session: {
    readonly owner_id: UserId
    readonly launched_by: string | null
    readonly token_id: string | null
  }): Promise<SessionStartFiles>
}

export function createStartFiles({ store: { db }, box }: { store: Pick<Store, 'db'>; box: SecretBox }): StartFiles {
  async function dotfilesOf(userId: UserId): Promise<Dotfile[]> {
    const rows = await listDotfiles(db, userId)
    return rows.map(({ path, mode, sealed, changed_at }) => ({
      path,
      mode,
      content: box.open(sealed, dotfileContext(userId, path)),
      changedAt: changed_at.toISOString(),
    }))
  }

  async function scriptOf(userId: UserId): Promise<BootstrapScript> {
    const row = await findBootstrapScript(db, userId)
    if (!row) return { script: '', changedAt: null }
    return { script: box.open(row.sealed, bootstrapContext(userId)), changedAt: row.changed_at.toISOString() }
  }

  return {
    dotfiles: dotfilesOf,
    script: scriptOf,
    async of({ owner_id: userId, launched_by, token_id }) {
      if (launched_by !== null || token_id !== null) return { dotfiles: [], bootstrapScript: '' }
      const [dotfiles, { script: bootstrapScript }] = await Promise.all([dotfilesOf(userId), scriptOf(userId)])
      return { dotfiles: dotfiles.map(({ path, content, mode }) => ({ path, content, mode })), bootstrapScript }
    },
  }
}
