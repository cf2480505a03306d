import { because, DOCKER_HUB, type FolderPermission, type Reason, reasonOf } from '#manager/contract'
import { allows, permissionOf } from '../../folders/access.ts'
import { registryOf } from '../../registries/registry-address.ts'
import { imageKey, type NamedImage } from '../../store/images/image-origins.ts'
import {
  type Bereft,
  type Deserted,
  type ForeignFolder,
  type MountOfSession,
  type Outsider,
  type WantedImage,
} from '../../store/sessions/rights.ts'

/** Decisions about waiting sessions, by the same rules as at the request. Pure. */

export function outsideReason({ moved }: Outsider): Reason {
  return moved ? reasonOf('domain_left', because('owner_moved')) : reasonOf('project_left', because('owner_left'))
}

export function desertedReason({ launchedBy }: Pick<Deserted, 'launchedBy'>): Reason {
  return reasonOf('launcher_left', because('launcher_left', { who: launchedBy }))
}

/** Rules about images that an admin may have changed since the request. */
export interface ImageRules {
  /** By reference; images without an entry are for all domains. */
  readonly domains: ReadonlyMap<string, readonly string[]>
  /** Registries whose images the users of a domain may launch, by domain; null = all. */
  readonly registries: ReadonlyMap<string, readonly string[] | null>
  /** Keys of images from Docker Hub, read only if some domain may not use it. */
  readonly ofHub: ReadonlySet<string>
}

export function mayLaunch({ domain, ...image }: WantedImage, { domains, registries, ofHub }: ImageRules): boolean {
  if (domains.get(image.reference)?.includes(domain) === false) return false
  const allowed = registries.get(domain)
  const registry = originOf(image, ofHub)
  return allowed === null || registry === null || (allowed?.includes(registry) ?? false)
}

/** Registry of the image; null if it was built on a host. */
function originOf(image: NamedImage, ofHub: ReadonlySet<string>): string | null {
  const registry = registryOf(image.reference)
  return registry !== DOCKER_HUB || ofHub.has(imageKey(image)) ? registry : null
}

/** A session with a deleted folder never starts: programs that expect the folder must not run without it. */
export function bereftReason({ name }: Pick<Bereft, 'name'>): Reason {
  return reasonOf('folder_deleted', because('folder_deleted_wait', { name }))
}

/**
 * A session of an access token that has ended never starts: a token is given for a fixed time and a number of sessions, and does not come
 * back.
 */
export const TOKEN_ENDED: Reason = reasonOf('token_ended', because('token_ended'))

export function imageReason({ reference }: Pick<NamedImage, 'reference'>): Reason {
  return reasonOf('image_withdrawn', because('image_right_withdrawn', { image: reference }))
}

/** Current right of a session to a folder; `closed`: its project is deactivated; `trashed`: the folder is in the trash, or deleted. */
export type FolderRight = FolderPermission | 'closed' | 'withdrawn' | 'withdrawn_from_launcher' | 'trashed'

/**
 * The lesser right of the owner and of an administrator who launched the session, because the administrator chose the command that reads
 * the folder.
 */
export function rightTo(folder: ForeignFolder): FolderRight {
  const { launchedBy, launcher_id, launcher_is_member: is_member, launcher_invited_permission } = folder
  if (folder.group_active === false) return 'closed'
  const own = permissionOf({ userId: folder.ownerId }, folder)
  if (own === undefined) return 'withdrawn'
  if (launchedBy === null) return folder.status === 'ready' ? own : 'trashed'
  const asLauncher = { ...folder, is_member, invited_permission: launcher_invited_permission }
  const others = launcher_id === null ? undefined : permissionOf({ userId: launcher_id }, asLauncher)
  if (others === undefined) return 'withdrawn_from_launcher'
  if (folder.status !== 'ready') return 'trashed'
  return allows(others, own) ? own : others
}

/** @returns undefined: the session may have the mount as requested; `lowered`: only for reading; else why it must not start */
export function judgeMount(
  { name, readOnly, launchedBy }: MountOfSession,
  right: FolderRight,
): Reason | 'lowered' | undefined {
  switch (right) {
    case 'closed':
      return reasonOf('folder_withdrawn', because('folder_project_deactivated_wait', { name }))
    case 'withdrawn':
      return reasonOf('folder_withdrawn', because('folder_right_withdrawn', { name }))
    case 'withdrawn_from_launcher':
      return reasonOf(
        'folder_withdrawn',
        because('folder_right_of_launcher_withdrawn', { name, who: launchedBy ?? '' }),
      )
    case 'trashed':
      return reasonOf('folder_trashed', because('folder_trashed_wait', { name }))
    case 'ro':
    case 'rw':
    case 'delete':
      return readOnly || allows(right, 'rw') ? undefined : 'lowered'
  }
}
