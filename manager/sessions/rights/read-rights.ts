import { allDone } from '#base/all-done'
import { DOCKER_HUB, FolderPermission, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { allows } from '../../folders/access.ts'
import { registryOf } from '../../registries/registry-address.ts'
import { type ReadRights } from '../../scheduler/rights.ts'
import { readImageDomains } from '../../store/images/image-domains.ts'
import { listDomains } from '../../store/identity/domains.ts'
import { type NamedImage, readAllowedRegistries, readImagesOfHub } from '../../store/images/image-origins.ts'
import { listBoundedSessions } from '../../store/quotas/network-bounds.ts'
import { type Db } from '../../store/schema.ts'
import {
  type AskedSessions,
  type ForeignFolder,
  listBereft,
  listDeserted,
  listForeignFolders,
  listMountsOf,
  listOutsiders,
  listSessionsWanting,
  listTokenless,
  listWantedImages,
  type MountOfSession,
  type WantedImage,
} from '../../store/sessions/rights.ts'
import { refusalOf } from '../network-access.ts'
import {
  bereftReason,
  desertedReason,
  type FolderRight,
  imageReason,
  type ImageRules,
  judgeMount,
  mayLaunch,
  outsideReason,
  rightTo,
  TOKEN_ENDED,
} from './judge-rights.ts'

/**
 * Compares domain, project, image, network and folders of waiting sessions with the current rights of their owners and, for sessions launched by
 * somebody else, with the rights of the launcher. Thousands of sessions have few images, owners and folders, so these are checked first,
 * and sessions are read only if a right was withdrawn. The most general reason counts.
 */
export const readRights: ReadRights = async (db, of) => {
  const [bereft, tokenless, outsiders, deserted, images, bounded, { mounts, rightOf }] = await allDone([
    listBereft(db, of),
    listTokenless(db, of),
    listOutsiders(db, of),
    listDeserted(db, of),
    readForbiddenImages(db, of),
    listBoundedSessions(db, of),
    readDoubtfulMounts(db, of),
  ])
  const withdrawn = new Map<SessionId, Reason>()
  const lowered: MountOfSession[] = []
  for (const mount of mounts) {
    const verdict = judgeMount(mount, rightOf(mount))
    if (verdict === 'lowered') lowered.push(mount)
    else if (verdict) withdrawn.set(mount.sessionId, verdict)
  }
  for (const session of bounded) {
    const refusal = refusalOf(session.wanted ?? undefined, [session])
    if (refusal) withdrawn.set(session.id, reasonOf('network_withdrawn', refusal))
  }
  for (const session of images) withdrawn.set(session.id, imageReason(session))
  for (const session of deserted) withdrawn.set(session.id, desertedReason(session))
  for (const outsider of outsiders) withdrawn.set(outsider.id, outsideReason(outsider))
  const doomed = new Map(bereft.map(session => [session.id, bereftReason(session)]))
  for (const id of tokenless) doomed.set(id, TOKEN_ENDED)
  for (const [id, reason] of doomed) withdrawn.set(id, reason)
  return { withdrawn, doomed, lowered: lowered.filter(({ sessionId }) => !withdrawn.has(sessionId)) }
}

async function readForbiddenImages(db: Db, of: AskedSessions) {
  const wanted = await listWantedImages(db, of)
  const rules = await readImageRules(db, wanted)
  return listSessionsWanting(
    db,
    of,
    wanted.filter(image => !mayLaunch(image, rules)),
  )
}

/** The domains whose users may launch an image now; undefined: it is for all domains. */
export async function readLaunchingDomains(db: Db, image: NamedImage): Promise<readonly string[] | undefined> {
  const wanted = (await listDomains(db)).map(({ name }) => ({ ...image, domain: name }))
  const rules = await readImageRules(db, wanted)
  const allowed = wanted.filter(one => mayLaunch(one, rules)).map(({ domain }) => domain)
  return rules.domains.has(image.reference) || allowed.length < wanted.length ? allowed : undefined
}

async function readImageRules(db: Db, images: readonly WantedImage[]): Promise<ImageRules> {
  const [domains, registries] = await allDone([
    readImageDomains(db),
    readAllowedRegistries(db, [...new Set(images.map(({ domain }) => domain))]),
  ])
  const doubtful = images.filter(
    ({ reference, domain }) =>
      registryOf(reference) === DOCKER_HUB && registries.get(domain)?.includes(DOCKER_HUB) === false,
  )
  return { domains, registries, ofHub: await readImagesOfHub(db, doubtful) }
}

const keyOf = ({ folderId, ownerId, launchedBy }: Pick<ForeignFolder, 'folderId' | 'ownerId' | 'launchedBy'>) =>
  `${folderId} ${ownerId} ${launchedBy ?? ''}`

/** Mounts of folders to which somebody may not write, with the right to each. */
async function readDoubtfulMounts(db: Db, of: AskedSessions) {
  const rights = new Map<string, FolderRight>()
  const doubtful = new Set<ForeignFolder['folderId']>()
  for (const folder of await listForeignFolders(db, of)) {
    const right = rightTo(folder)
    rights.set(keyOf(folder), right)
    if (!mayWrite(right)) doubtful.add(folder.folderId)
  }
  const mounts = await listMountsOf(db, of, [...doubtful])
  // No rights were read for own folders, and for folders of sessions that were requested since: these mounts are allowed.
  const rightOf = (mount: MountOfSession) => rights.get(keyOf(mount)) ?? 'delete'
  return { mounts, rightOf }
}

function mayWrite(right: FolderRight): boolean {
  const { data: permission } = FolderPermission.safeParse(right)
  return allows(permission, 'rw')
}
