import { type AgentId } from '#manager/contract'
import {
  type NamedImage,
  namedKey,
  readDisputed,
  readHolders,
  readImageTransfers,
} from '../store/images/image-transfers.ts'
import { type Db } from '../store/schema.ts'

/**
 * The images that an agent without them may take from another agent, which is connected and has them. An image under a name that means
 * another image elsewhere is not among them: an agent must not decide what a name means on other hosts.
 */
export async function readGivable(
  db: Db,
  images: readonly { readonly reference: string; readonly digest: string | null }[],
  presence: { isReady(id: AgentId): boolean },
): Promise<{ has(image: NamedImage): boolean }> {
  const wanted = images.flatMap(({ reference, digest }) => (digest === null ? [] : [{ reference, digest }]))
  if (wanted.length === 0 || (await readImageTransfers(db)) === 'never') return NONE
  const [holders, disputed] = await Promise.all([
    readHolders(
      db,
      wanted.map(({ digest }) => digest),
    ),
    readDisputed(db, wanted),
  ])
  return {
    has: image =>
      !disputed.has(namedKey(image)) && (holders.get(image.digest)?.some(id => presence.isReady(id)) ?? false),
  }
}

const NONE = { has: () => false }
